"""Case 1 for imported files: two rows with one id are refused with both places, whatever the format."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evolve.core.errors import UserError
from evolve.data.importing import ImportOptions, import_cases


def write(folder: Path, kind: str) -> Path:
    path = folder / f"source.{kind}"
    if kind == "csv":
        path.write_text("id,input,expected\n1,a,x\n2,b,x\n1,c,x\n")
    elif kind == "parquet":
        pq.write_table(pa.table({"id": [1, 2, 1], "input": ["a", "b", "c"], "expected": ["x"] * 3}), path)
    else:
        path.write_text(
            '{"id": 1, "input": "a", "target": "x"}\n{"id": 2, "input": "b", "target": "x"}\n'
            '{"id": "1", "input": "c", "target": "x"}\n'
        )
    return path


@pytest.mark.parametrize("skip_bad", [False, True])
@pytest.mark.parametrize(
    ("kind", "places"), [("csv", "row 2 and row 4"), ("parquet", "row 1 and row 3"), ("jsonl", "row 1 and row 3")]
)
def test_one_id_twice(tmp_path: Path, kind: str, places: str, skip_bad: bool) -> None:
    with pytest.raises(UserError, match=f"{places} have one id, '1'") as caught:
        import_cases(write(tmp_path, kind), tmp_path / "out.jsonl", ImportOptions(skip_bad=skip_bad))
    assert caught.value.exit_code == 2
    assert not (tmp_path / "out.jsonl").exists()


def test_one_id_in_two_files_of_a_folder_names_both(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    for split in ("train", "dev", "test"):
        (tmp_path / "set" / f"{split}.jsonl").write_text(f'{{"id": 1, "input": "{split}", "expected": "x"}}\n')
    with pytest.raises(UserError, match=r"dev\.jsonl row 1 and test\.jsonl row 1 have one id"):
        import_cases(tmp_path / "set", tmp_path / "out.jsonl", ImportOptions())
