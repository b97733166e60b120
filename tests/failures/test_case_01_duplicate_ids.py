"""Two rows with one id are refused with both line numbers and the id, before anything else is looked at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evolve.core.errors import UserError
from evolve.data import DataSettings, load_cases


@pytest.mark.parametrize("skip_bad", [False, True])
@pytest.mark.parametrize(("first", "second"), [("a", "a"), (1, "1"), ("1", 1)])
def test_one_id_twice(tmp_path: Path, first: object, second: object, skip_bad: bool) -> None:
    path = tmp_path / "cases.jsonl"
    rows = [{"id": i, "input": f"question {n}", "expected": n} for n, i in enumerate([first, "other", second])]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{broken\n", encoding="utf-8")
    with pytest.raises(UserError, match=f"lines 1 and 3 have one id, '{second}'") as caught:
        load_cases(path, DataSettings(cases=path.name, skip_bad=skip_bad))
    assert caught.value.exit_code == 2
    assert caught.value.place == f"{path}:3"


def test_one_row_twice_without_ids(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"input": "q", "expected": 1}\n' * 2, encoding="utf-8")
    with pytest.raises(UserError, match="lines 1 and 2 have one id"):
        load_cases(path, DataSettings(cases=path.name))
