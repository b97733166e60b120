"""An empty dataset, and a split that would hold no case, are clear errors of the user (exit 2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.core.cases import Case
from evolve.core.errors import UserError
from evolve.data import DataSettings, SplitSettings, load_cases, split_cases


@pytest.mark.parametrize(
    ("name", "content"),
    [("c.jsonl", ""), ("c.jsonl", "\n\n"), ("c.json", "[]"), ("c.csv", "id,input,expected\n"), ("c.jsonl", "\ufeff")],
)
@pytest.mark.parametrize("skip_bad", [False, True])
def test_no_cases(tmp_path: Path, name: str, content: str, skip_bad: bool) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match="no cases in this file") as caught:
        load_cases(path, DataSettings(cases=name, skip_bad=skip_bad))
    assert caught.value.exit_code == 2
    assert caught.value.fix


def test_nothing_left_after_skipping(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"input": "", "expected": 1}\n', encoding="utf-8")
    with pytest.raises(UserError, match="no usable case"):
        load_cases(path, DataSettings(cases=path.name, skip_bad=True))


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_cases_for_three_splits(count: int) -> None:
    few = [Case(str(n), f"question {n}") for n in range(count)]
    with pytest.raises(UserError, match=f"would hold 0 of {count} cases") as caught:
        split_cases(few, SplitSettings())
    assert caught.value.exit_code == 2
    assert "at least 6 units" in caught.value.fix


def test_one_group_for_all_cases() -> None:
    same = [Case(str(n), f"question {n}", group="g") for n in range(30)]
    with pytest.raises(UserError, match="would hold 0 of 30 cases") as caught:
        split_cases(same, SplitSettings())
    assert "1 separate units" in caught.value.fix
