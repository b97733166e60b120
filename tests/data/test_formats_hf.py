"""Datasets as hubs lay them out: shards, subsets, labels, splits that overlap."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evolve.core.cases import Split
from evolve.core.errors import UserError
from evolve.data import DataSettings, load_cases
from tests.data.importing import imported, json_lines


def shard(path: Path, columns: dict[str, Any], labels: list[str] | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(columns)
    if labels:
        features = {"label": {"names": labels, "_type": "ClassLabel"}}
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    pq.write_table(table, path)
    return path


def splits(folder: Path, prefix: str = "", suffix: str = "") -> Path:
    for split in ("train", "validation", "test"):
        json_lines(
            folder / prefix / f"{split}{suffix}.jsonl",
            *({"input": f"{prefix}{split}{n}", "expected": n} for n in range(4)),
        )
    return folder


@pytest.mark.parametrize(
    "names",
    [
        (
            "data/train-00000-of-00001.parquet",
            "data/validation-00000-of-00001.parquet",
            "data/test-00000-of-00001.parquet",
        ),
        ("train/0.parquet", "dev/0.parquet", "test/0.parquet"),
        ("training.parquet", "val.parquet", "evaluation.parquet"),
        ("my_train_file.parquet", "my_valid_file.parquet", "my_eval_file.parquet"),
    ],
)
def test_each_layout_gives_the_same_three_splits(tmp_path: Path, names: tuple[str, str, str]) -> None:
    for name, start in zip(names, (0, 10, 20), strict=True):
        shard(tmp_path / "set" / name, {"input": [f"q{start + n}" for n in range(3)], "expected": ["a", "b", "c"]})
    found, rows = imported(tmp_path / "set", tmp_path)
    assert found.dataset is not None
    assert [[case.input for case in found.dataset[split]] for split in Split] == [
        ["q0", "q1", "q2"], ["q10", "q11", "q12"], ["q20", "q21", "q22"],
    ]  # fmt: skip
    assert len(rows) == 9 and sum("→" in note for note in found.notes) == 3, "each mapping is said"


def test_subsets_are_never_mixed(tmp_path: Path) -> None:
    for subset in ("main", "socratic"):
        splits(tmp_path / "set", subset)
    with pytest.raises(UserError, match="several folders: main, socratic") as caught:
        imported(tmp_path / "set", tmp_path)
    assert str(tmp_path / "set" / "main") in caught.value.fix
    found, _ = imported(tmp_path / "set" / "main", tmp_path)
    assert found.dataset is not None


def test_descriptions_are_passed_over_and_unread_files_are_named(tmp_path: Path) -> None:
    folder = splits(tmp_path / "set")
    (folder / "dataset_infos.json").write_text("{}")
    (folder / "README.md").write_text("# set")
    (folder / "extra-test.jsonl.gz").write_bytes(b"\x1f\x8b")
    found, rows = imported(folder, tmp_path)
    assert len(rows) == 12
    assert "not read: extra-test.jsonl.gz" in found.notes


def test_a_row_that_nobody_labelled_is_bad_and_not_class_minus_one(tmp_path: Path) -> None:
    path = shard(tmp_path / "t.parquet", {"input": ["a", "b"], "label": [1, -1]}, ["no", "yes"])
    with pytest.raises(UserError, match="row 2: -1 is none of its 2 class labels"):
        imported(path, tmp_path)
    _, rows = imported(path, tmp_path, skip_bad=True)
    assert [row["expected"] for row in rows] == ["yes"]


def test_cases_on_two_sides_are_refused_or_left_out_where_they_are_fitted(tmp_path: Path) -> None:
    folder = splits(tmp_path / "set")
    with (folder / "train.jsonl").open("a") as file:
        file.write('{"input": "TEST1", "expected": 1}\n{"input": "validation2", "expected": 2}\n')
    with pytest.raises(
        UserError, match=r"train\.jsonl row 5: train, and test\.jsonl row 2 \(heldout\): they have the same text"
    ):
        imported(folder, tmp_path)
    assert not (tmp_path / "cases.jsonl").exists()
    found, _ = imported(folder, tmp_path, skip_bad=True)
    assert found.dataset is not None
    assert {split.value: len(found.dataset[split]) for split in Split} == {"train": 4, "dev": 4, "heldout": 4}
    assert any("2 bad rows were left out" in note for note in found.notes)


def test_a_limit_keeps_the_proportions_of_the_splits(tmp_path: Path) -> None:
    folder = splits(tmp_path / "set")
    json_lines(folder / "train.jsonl", *({"input": f"t{n}", "expected": n} for n in range(40)))
    found, rows = imported(folder, tmp_path, limit=12)
    assert len(rows) == 12 and found.dataset is not None
    assert {split.value: len(found.dataset[split]) for split in Split} == {"train": 10, "dev": 1, "heldout": 1}


def test_rows_of_a_shard_are_named_by_their_file(tmp_path: Path) -> None:
    folder = splits(tmp_path / "set")
    with (folder / "validation.jsonl").open("a") as file:
        file.write('{"input": "", "expected": 1}\n{cut')
    with pytest.raises(
        UserError, match=r"(?s)validation\.jsonl row 5: 'input' is empty.*validation\.jsonl row 6: the last line is cut"
    ):
        imported(folder, tmp_path)


def test_cells_of_several_lines_in_two_shards_get_places_of_their_own(tmp_path: Path) -> None:
    for split in ("train", "validation", "test"):
        path = tmp_path / "set" / f"{split}.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'id,input,expected\n,"{split}\n\n\nx",1\n,{split}2,2\nnamed-{split},{split}3,2\n')
    _, rows = imported(tmp_path / "set", tmp_path)
    assert len({row["id"] for row in rows}) == 9


def test_a_split_column_is_mapped_and_said(tmp_path: Path) -> None:
    path = json_lines(
        tmp_path / "r.jsonl",
        *(
            {"input": f"{part}{n}", "expected": n, "part": part}
            for part in ("train", "validation", "test")
            for n in range(3)
        ),
    )
    found, rows = imported(path, tmp_path, split_column="part")
    assert [row["split"] for row in rows] == ["train"] * 3 + ["dev"] * 3 + ["heldout"] * 3
    assert any("validation → dev" in note and "test → heldout" in note for note in found.notes)
    json_lines(tmp_path / "r.jsonl", {"input": "a", "expected": 1, "part": "tset"})
    with pytest.raises(UserError, match="row 1: 'tset' names no split"):
        imported(path, tmp_path, split_column="part")


def test_a_column_named_split_that_says_something_else_is_not_taken_for_one(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "r.jsonl", *({"input": f"q{n}", "expected": n, "split": "half"} for n in range(9)))
    found, rows = imported(path, tmp_path)
    assert "split" not in rows[0] and found.settings.split.column is None
    assert any("'half'" in note for note in found.notes)


def test_groups_are_kept_together(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "r.jsonl", *({"input": f"q{n}", "expected": n, "doc": n // 4} for n in range(40)))
    found, rows = imported(path, tmp_path, group="doc")
    assert found.settings.group_by == "group" and rows[4]["group"] == 1
    assert found.dataset is not None
    where = {(case.group, split) for split in Split for case in found.dataset[split]}
    assert len(where) == 10, "each group stands in one split"


def test_values_without_a_json_form_become_texts(tmp_path: Path) -> None:
    columns = {
        "input": ["a"],
        "expected": pa.array([1], pa.timestamp("ns")),
        "when": [datetime(2026, 1, 2, tzinfo=UTC)],
        "raw": [b"\x00\xff"],
    }
    shard(tmp_path / "c.parquet", columns)
    (case,) = load_cases(tmp_path / "c.parquet", DataSettings(cases="c.parquet", tags=("when", "raw"))).cases
    assert case.expected == "1970-01-01 00:00:00.000000001"
    assert case.tags == {"when": "2026-01-02T00:00:00+00:00", "raw": "AP8="}
