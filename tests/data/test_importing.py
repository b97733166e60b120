"""Importing: files as their own tools write them become cases that a campaign reads, and nothing is lost in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from evolve.core.cases import Split
from evolve.core.errors import UserError
from evolve.data import DataSettings, load_cases, split_cases
from evolve.data.importing import Imported, ImportOptions, detect, import_cases


def run(source: Path, tmp_path: Path, **options: Any) -> tuple[Imported, list[dict[str, Any]]]:
    out = tmp_path / "cases.jsonl"
    found = import_cases(source, out, ImportOptions(**options))
    return found, [json.loads(line) for line in out.read_text().splitlines()]


def shard(path: Path, columns: dict[str, list[Any]], labels: list[str] | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(columns)
    if labels:
        features = {"label": {"names": labels, "_type": "ClassLabel"}, "text": {"dtype": "string", "_type": "Value"}}
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    pq.write_table(table, path)


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    """A folder of Parquet shards with class labels and three splits."""
    folder = tmp_path / "banking"
    for name, count, start in (
        ("train-00000-of-00002", 6, 0),
        ("train-00001-of-00002", 4, 6),
        ("test-00000-of-00001", 5, 20),
    ):
        texts = [f"question {i} 🙂 é" for i in range(start, start + count)]
        shard(
            folder / "data" / f"{name}.parquet",
            {"text": texts, "label": [i % 2 for i in range(count)]},
            ["card", "top_up"],
        )
    shard(
        folder / "data" / "validation-00000-of-00001.parquet",
        {"text": ["v1", "v2"], "label": [0, 1]},
        ["card", "top_up"],
    )
    (folder / "README.md").write_text("---\nconfigs: []\n---\n")
    return folder


def test_a_hub_folder_keeps_its_splits_and_names_its_labels(hub: Path, tmp_path: Path) -> None:
    found, rows = run(hub, tmp_path)
    assert len(rows) == 17
    assert rows[-1] | {"id": 0} == {"id": 0, "input": "v2", "expected": "top_up", "split": "dev"}
    assert {row["expected"] for row in rows} == {"card", "top_up"}
    assert any("test → heldout" in note for note in found.notes), "a mapped split is said, never silent"
    assert any("'text'" in note for note in found.notes)
    report = load_cases(tmp_path / "cases.jsonl", found.settings)
    dataset = split_cases(report.cases, found.settings.split, report.origins)
    assert [len(dataset[split]) for split in Split] == [10, 2, 5]


def test_without_a_dev_split_they_are_drawn_and_it_is_said(hub: Path, tmp_path: Path) -> None:
    (hub / "data" / "validation-00000-of-00001.parquet").unlink()
    found, _ = run(hub, tmp_path)
    assert found.settings.split.column is None
    assert any("no dev" in note and "drawn" in note for note in found.notes)


def test_a_file_whose_split_cannot_be_told_is_refused(hub: Path, tmp_path: Path) -> None:
    shard(hub / "data" / "part-0.parquet", {"text": ["x"], "label": [0]})
    with pytest.raises(UserError, match="which split"):
        run(hub, tmp_path)


def test_folders_of_json_lines_by_split(tmp_path: Path) -> None:
    for split in ("train", "valid", "test"):
        (tmp_path / "set" / split).mkdir(parents=True)
        (tmp_path / "set" / split / "a.jsonl").write_text(f'{{"question": "{split} q", "answer": "a"}}\n')
    _, rows = run(tmp_path / "set", tmp_path)
    assert {(row["input"], row["split"]) for row in rows} == {
        ("train q", "train"), ("valid q", "dev"), ("test q", "heldout"),
    }  # fmt: skip


def test_one_parquet_file_is_read_by_a_campaign_as_it_is(tmp_path: Path) -> None:
    shard(tmp_path / "cases.parquet", {"input": ["a", "b"], "expected": [{"x": 1}, {"x": 2}], "id": [1, 2]})
    report = load_cases(tmp_path / "cases.parquet", DataSettings(cases="cases.parquet"))
    assert [(case.id, case.expected) for case in report.cases] == [("1", {"x": 1}), ("2", {"x": 2})]
    (tmp_path / "no.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(UserError, match="not a Parquet file"):
        load_cases(tmp_path / "no.parquet", DataSettings(cases="no.parquet"))


PROMPTFOO = {
    "prompts": ["{{question}}"],
    "defaultTest": {"vars": {"tone": "short"}},
    "tests": [
        {"vars": {"question": "capital of France?"}, "assert": [{"type": "icontains", "value": "Paris"}]},
        {
            "description": "two words",
            "vars": {"question": "colours?"},
            "assert": [{"type": "contains", "value": "red"}, {"type": "contains", "value": "blue"}],
            "metadata": {"kind": "list"},
        },
    ],
}


def test_promptfoo_tests_in_yaml(tmp_path: Path) -> None:
    (tmp_path / "promptfooconfig.yaml").write_text(yaml.safe_dump(PROMPTFOO))
    found, rows = run(tmp_path / "promptfooconfig.yaml", tmp_path)
    assert rows[0]["input"] == {"tone": "short", "question": "capital of France?"}
    assert [row["expected"] for row in rows] == ["Paris", ["red", "blue"]]
    assert rows[1]["tags"] == {"kind": "list"}
    assert found.scorer == "{kind: contains, whole_words: false}"


def test_promptfoo_tests_in_csv(tmp_path: Path) -> None:
    (tmp_path / "tests.csv").write_text(
        "question,__expected,__metadata:kind\nWhat is 2+2?,4,sum\nIs it: so?,equals: yes: it is,talk\n"
    )
    found, rows = run(tmp_path / "tests.csv", tmp_path)
    assert [(row["input"], row["expected"]) for row in rows] == [("What is 2+2?", "4"), ("Is it: so?", "yes: it is")]
    assert rows[0]["tags"] == {"kind": "sum"}
    assert found.scorer == "{kind: exact, strict: true}"


def test_an_assertion_without_a_scorer_is_named_and_counted(tmp_path: Path) -> None:
    tests = [*PROMPTFOO["tests"], {"vars": {"question": "x"}, "assert": [{"type": "javascript", "value": "output"}]}]  # type: ignore[misc]
    (tmp_path / "t.yaml").write_text(yaml.safe_dump({"tests": tests}))
    with pytest.raises(UserError, match="'javascript' has no scorer"):
        run(tmp_path / "t.yaml", tmp_path)
    assert not (tmp_path / "cases.jsonl").exists()
    found, rows = run(tmp_path / "t.yaml", tmp_path, skip_bad=True)
    assert len(rows) == 2 and any("1 bad rows were left out" in note for note in found.notes)


def test_tests_that_need_several_scorers_are_refused(tmp_path: Path) -> None:
    tests = [PROMPTFOO["tests"][0], {"vars": {"q": "x"}, "assert": [{"type": "equals", "value": "y"}]}]  # type: ignore[index]
    (tmp_path / "t.yaml").write_text(yaml.safe_dump(tests))
    with pytest.raises(UserError, match="several ways"):
        run(tmp_path / "t.yaml", tmp_path)


def test_inspect_samples_with_choices_and_conversations(tmp_path: Path) -> None:
    samples = [
        {"id": 7, "input": "Which?", "target": "B", "choices": ["red", "blue"], "metadata": {"level": 3, "deep": {}}},
        {
            "input": [{"role": "system", "content": "s"}, {"role": "user", "content": "Hi"}],
            "target": "A",
            "choices": ["x"],
        },
    ]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(s) + "\n" for s in samples))
    found, rows = run(tmp_path / "s.jsonl", tmp_path)
    assert (rows[0]["id"], rows[0]["input"], rows[0]["tags"]) == ("7", "Which?\nA) red\nB) blue", {"level": "3"})
    assert rows[1]["input"][1]["content"] == "Hi\nA) x"
    assert rows[1]["id"] == "row-2" and any("without an id" in note for note in found.notes)
    assert found.scorer == "{kind: choice}"


def test_inspect_targets_that_are_lists_accept_any(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"input": "q1", "target": ["a", "b"]}\n{"input": "q2", "target": "c"}\n')
    found, rows = run(tmp_path / "s.jsonl", tmp_path)
    assert [row["expected"] for row in rows] == [["a", "b"], ["c"]]
    assert found.scorer == "{kind: exact, any_of: true}"


def test_columns_are_guessed_aloud_or_asked_for(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("question,answer,topic\nq1,a1,x\nq2,a2,y\n")
    found, rows = run(tmp_path / "r.csv", tmp_path, tags=("topic",), limit=1)
    assert rows == [{"id": rows[0]["id"], "input": "q1", "expected": "a1", "tags": {"topic": "x"}}]
    assert sum("is read from column" in note for note in found.notes) == 2
    with pytest.raises(UserError, match="did you mean 'question'"):
        run(tmp_path / "r.csv", tmp_path, input="questoin")
    (tmp_path / "s.csv").write_text("foo,bar\n1,2\n")
    with pytest.raises(UserError, match="which column"):
        run(tmp_path / "s.csv", tmp_path)


@pytest.mark.parametrize(
    "rows", ['{"id": 1, "input": "a", "expected": "x"}\n{"id": "1", "input": "b", "expected": "y"}\n']
)
def test_what_a_campaign_would_refuse_is_refused_and_nothing_is_written(tmp_path: Path, rows: str) -> None:
    (tmp_path / "r.jsonl").write_text(rows)
    with pytest.raises(UserError, match="have one id"):
        run(tmp_path / "r.jsonl", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["r.jsonl"]


def test_a_missing_source(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        detect(tmp_path / "nothing.csv")
