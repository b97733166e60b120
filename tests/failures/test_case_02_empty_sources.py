"""Case 2 for imported files: nothing in a source, or nothing left of it, is a clear error, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evolve.core.errors import UserError
from evolve.data.importing import ImportOptions, import_cases


@pytest.mark.parametrize("skip_bad", [False, True])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", ""),
        ("a.json", "[]"),
        ("a.csv", "q,__expected\n"),
        ("a.yaml", "tests: []"),
        ("a.parquet", None),
        ("a", None),
    ],
)
def test_a_source_without_cases(tmp_path: Path, name: str, content: str | None, skip_bad: bool) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    elif path.suffix:
        pq.write_table(pa.table({"input": pa.array([], pa.string()), "expected": pa.array([], pa.string())}), path)
    else:
        path.mkdir()
    with pytest.raises(UserError, match=r"no cases in this source|no files of rows") as caught:
        import_cases(path, tmp_path / "out.jsonl", ImportOptions(skip_bad=skip_bad))
    assert caught.value.exit_code == 2 and caught.value.fix
    assert not (tmp_path / "out.jsonl").exists()


def test_nothing_left_after_skipping_says_why(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("tests: [{vars: {q: a}, assert: [{type: is-json}]}]")
    with pytest.raises(UserError, match=r"(?s)no usable case is left.*'is-json' has no scorer"):
        import_cases(tmp_path / "a.yaml", tmp_path / "out.jsonl", ImportOptions(skip_bad=True))


def test_a_split_that_the_source_leaves_empty_is_told(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    for split, count in (("train", 30), ("test", 30), ("validation", 0)):
        rows = "".join(f'{{"input": "{split} {n}", "expected": {n}}}\n' for n in range(count))
        (tmp_path / "set" / f"{split}.jsonl").write_text(rows)
    found = import_cases(tmp_path / "set", tmp_path / "out.jsonl", ImportOptions())
    assert any("the source has no dev: splits are drawn" in note for note in found.notes)
