"""promptfoo tests: what has a scorer here is graded by it; whatever else a test says is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from evolve.core.errors import UserError
from evolve.data.promptfoo_asserts import OTHERS, SCORERS, assertion_of_cell
from evolve.evaluate.scorers.registry import KINDS
from tests.data.importing import imported, json_lines


def write_tests(folder: Path, *tests: Any, **document: Any) -> Path:
    path = folder / "promptfooconfig.yaml"
    path.write_text(json.dumps({"tests": list(tests), **document}))  # JSON is YAML
    return path


def equals(value: Any, **more: Any) -> dict[str, Any]:
    return {"vars": {"q": "question"}, "assert": [{"type": "equals", "value": value}], **more}


@pytest.mark.parametrize("kind", sorted(SCORERS))
def test_each_assertion_in_the_table_names_a_scorer_with_valid_options(kind: str) -> None:
    settings = yaml.safe_load(SCORERS[kind])
    assert KINDS[settings["kind"]].model_validate(settings).model_dump()["kind"] == settings["kind"]


@pytest.mark.parametrize(
    ("test", "named"),
    [
        (equals("x", threshold=0.5), "`threshold`"),
        (equals("x", options={"transform": "output.trim()"}), "`options.transform`"),
        (equals("x", assertScoringFunction="file://f.js"), "`assertScoringFunction`"),
        (equals("file://answer.txt"), "in a file"),
        (equals("{{ q | upper }}"), "template"),
        (equals("{{missing}}"), "template"),
        (equals(None), "states no value"),
        ({"vars": {"q": "file://q.txt"}, "assert": [{"type": "equals", "value": "x"}]}, "names a file"),
        ({"vars": ["q"], "assert": [{"type": "equals", "value": "x"}]}, "`vars`"),
        ({"vars": "file://v.yaml", "assert": [{"type": "equals", "value": "x"}]}, "`vars`"),
        (equals("x", metadata="m"), "`metadata`"),
        ({"vars": {"q": 1}, "assert": {"type": "equals"}}, "list of assertions"),
        ({"vars": {"q": 1}, "assert": [{"type": "contains", "value": "x", "weight": 2}]}, "`weight`"),
        ({"vars": {"q": 1}, "assert": [{"type": "not-contains", "value": "x"}]}, "'not-contains' has no scorer"),
        ({"vars": {"q": 1}, "assert": [{"type": "is-json"}]}, "'is-json' has no scorer"),
        ({"vars": {"q": 1}}, "no assert"),
        ({"assert": [{"type": "equals", "value": "x"}]}, "no vars"),
    ],
)
def test_what_has_no_counterpart_is_a_bad_row_that_names_it(tmp_path: Path, test: dict[str, Any], named: str) -> None:
    path = write_tests(tmp_path, equals("fine"), test)
    with pytest.raises(UserError, match="row 2: ") as caught:
        imported(path, tmp_path)
    assert named in caught.value.message
    found, rows = imported(path, tmp_path, skip_bad=True)
    assert [row["expected"] for row in rows] == ["fine"]
    assert any("1 bad rows were left out" in note for note in found.notes)


def test_left_out_assertions_are_counted_by_name(tmp_path: Path) -> None:
    odd = [
        {"vars": {"q": f"{k}{n}"}, "assert": [{"type": k}]}
        for k, count in (("is-json", 3), ("cost", 1))
        for n in range(count)
    ]
    found, _ = imported(write_tests(tmp_path, equals("fine"), *odd), tmp_path, skip_bad=True)
    (note,) = [note for note in found.notes if "left out" in note]
    assert "3 × the assertion 'is-json'" in note and "1 × the assertion 'cost'" in note


def test_templates_of_variables_are_filled_in(tmp_path: Path) -> None:
    test = {"vars": {"q": "capital?", "city": "Paris"}, "assert": [{"type": "icontains", "value": "It is {{city}}."}]}
    _, rows = imported(write_tests(tmp_path, test), tmp_path)
    assert rows[0]["expected"] == "It is Paris."


def test_variables_that_are_lists_make_a_case_of_each_combination(tmp_path: Path) -> None:
    test = {"vars": {"a": ["1", "2"], "b": ["x", "y"]}, "assert": [{"type": "equals", "value": "{{a}}{{b}}"}]}
    _, rows = imported(write_tests(tmp_path, test, equals("one")), tmp_path)
    assert [row["expected"] for row in rows] == ["1x", "1y", "2x", "2y", "one"]
    whole = {**test, "options": {"disableVarExpansion": True}, "assert": [{"type": "equals", "value": "z"}]}
    _, rows = imported(write_tests(tmp_path, whole), tmp_path)
    assert rows[0]["input"] == {"a": ["1", "2"], "b": ["x", "y"]}


def test_defaults_add_assertions_and_yield_to_the_test(tmp_path: Path) -> None:
    default = {"vars": {"tone": "short"}, "assert": [{"type": "contains", "value": "a"}], "metadata": {"team": "x"}}
    test = {"vars": {"q": "1", "tone": "long"}, "assert": [{"type": "contains", "value": "b"}]}
    _, rows = imported(write_tests(tmp_path, test, defaultTest=default), tmp_path)
    assert rows[0]["input"] == {"tone": "long", "q": "1"}
    assert (rows[0]["expected"], rows[0]["tags"]) == (["a", "b"], {"team": "x"})
    with pytest.raises(UserError, match="defaultTest"):
        imported(write_tests(tmp_path, test, defaultTest="file://default.yaml"), tmp_path)


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_lists_of_tests_are_told_by_their_fields(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"tests.{suffix}"
    if suffix == "json":
        path.write_text(json.dumps([equals("x")]))
    else:
        json_lines(path, equals("x"))
    found, rows = imported(path, tmp_path)
    assert rows[0]["input"] == "question" and "format: promptfoo (fields vars and assert)" in found.notes


@pytest.mark.parametrize(
    ("cell", "kind", "value"),
    [
        ("Paris", "equals", "Paris"),
        ("Note: this, here", "equals", "Note: this, here"),
        ("https://example.org/x", "equals", "https://example.org/x"),
        ("contains", "equals", "contains"),
        ("icontains: red", "icontains", "red"),
        ("contains-any: a, b", "contains-any", ["a", "b"]),
        ("grade: is polite", "llm-rubric", "is polite"),
        ("similar(0.8): hello", "similar", "hello"),
        ("not-contains: x", "not-contains", "x"),
        ("is-json", "is-json", ""),
        ("javascript: output.length > 3", "javascript", "output.length > 3"),
    ],
)
def test_cells_are_assertions_only_by_a_known_name(cell: str, kind: str, value: Any) -> None:
    found = assertion_of_cell(cell)
    assert (found["type"], found["value"]) == (kind, value)
    assert kind.removeprefix("not-") in {*SCORERS, *OTHERS}


def test_a_table_with_a_broken_row_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("q,__expected\nx,1\ny,2,3\nz,4\n")
    with pytest.raises(UserError, match="row 3: 3 cells under a header of 2"):
        imported(tmp_path / "t.csv", tmp_path)
    found, rows = imported(tmp_path / "t.csv", tmp_path, skip_bad=True)
    assert len(rows) == 2 and any("1 bad rows" in note for note in found.notes)


@pytest.mark.parametrize(
    "column", ["__prefix", "__suffix", "__threshold", "__providerOutput", "__config:__expected:threshold"]
)
def test_columns_that_change_a_test_are_refused_by_name(tmp_path: Path, column: str) -> None:
    (tmp_path / "t.csv").write_text(f"q,__expected,__description,__metric,{column}\nx,1,d,m,\ny,2,d,m,0.5\n")
    with pytest.raises(UserError, match="row 3: `__") as caught:
        imported(tmp_path / "t.csv", tmp_path)
    assert column in caught.value.message


def test_that_case_stops_counting_is_said(tmp_path: Path) -> None:
    test = {"vars": {"q": "1"}, "assert": [{"type": "contains", "value": "A"}]}
    found, _ = imported(write_tests(tmp_path, test), tmp_path)
    assert any("without regard to case" in note for note in found.notes)
