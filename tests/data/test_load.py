"""Files of cases: formats, columns, ids, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.core.errors import UserError
from evolve.data import DataSettings, load_cases


def write(tmp_path: Path, text: str | bytes, name: str = "cases.jsonl") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def load(path: Path, **settings: object):
    return load_cases(path, DataSettings.model_validate({"cases": path.name, **settings}))


def jsonl(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


ROWS = [{"id": "a", "input": "one", "expected": "1"}, {"id": "b", "input": "two, or\nmore", "expected": "2"}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.jsonl", jsonl(*ROWS)),
        ("c.ndjson", jsonl(*ROWS)),
        ("c.json", json.dumps(ROWS, indent=2)),
        ("c.csv", 'id,input,expected\na,one,1\nb,"two, or\nmore",2\n'),
        ("c.tsv", 'id\tinput\texpected\na\tone\t1\nb\t"two, or\nmore"\t2\n'),
    ],
)
def test_every_format_gives_the_same_cases(tmp_path: Path, name: str, text: str) -> None:
    cases = load(write(tmp_path, text, name)).cases
    assert [(c.id, c.input, c.expected) for c in cases] == [("a", "one", "1"), ("b", "two, or\nmore", "2")]


def test_columns_tags_and_groups_are_mapped(tmp_path: Path) -> None:
    row = {"key": 7, "q": {"x": 1}, "gold": [1], "kind": "math", "hard": True, "user": 3}
    report = load(
        write(tmp_path, jsonl(row)), id="key", input="q", expected="gold", tags=["kind", "hard"], group_by="user"
    )
    case = report.cases[0]
    assert (case.id, case.input, case.expected, case.group) == ("7", {"x": 1}, [1], "3")
    assert case.tags == {"kind": "math", "hard": "true"}


@pytest.mark.parametrize(
    ("tags", "expected"), [({"kind": "qa", "n": 1}, {"kind": "qa", "n": "1"}), (["hard"], {"hard": "yes"}), (None, {})]
)
def test_a_tags_column_may_hold_an_object_or_names(tmp_path: Path, tags: object, expected: dict[str, str]) -> None:
    row = {"id": "a", "input": "q", "expected": "", "tags": tags}
    assert load(write(tmp_path, jsonl(row))).cases[0].tags == expected


@pytest.mark.parametrize(("key", "wrong", "right"), [("input", "imput", "input"), ("expected", "expectd", "expected")])
def test_a_wrong_column_names_the_nearest(tmp_path: Path, key: str, wrong: str, right: str) -> None:
    with pytest.raises(UserError, match=f"data.{key}") as caught:
        load(write(tmp_path, jsonl(*ROWS)), **{key: wrong})
    assert f"did you mean '{right}'" in caught.value.fix


@pytest.mark.parametrize("key", ["id", "group_by"])
def test_a_named_column_that_is_absent_is_never_replaced(tmp_path: Path, key: str) -> None:
    with pytest.raises(UserError, match="no row has a column 'absent'"):
        load(write(tmp_path, jsonl(*ROWS)), **{key: "absent"})


def test_expected_may_be_declared_absent_but_is_not_assumed_so(tmp_path: Path) -> None:
    path = write(tmp_path, jsonl({"input": "q"}))
    with pytest.raises(UserError, match="expected"):
        load(path)
    assert load(path, expected=None).cases[0].expected is None


@given(st.permutations([{"input": f"q{n}", "expected": n} for n in range(6)]))
def test_made_ids_follow_the_content_not_the_order(tmp_path_factory, rows) -> None:
    path = write(tmp_path_factory.mktemp("d"), jsonl(*rows))
    ids = {case.input: case.id for case in load(path).cases}
    assert ids == {f"q{n}": load_one(tmp_path_factory, n) for n in range(6)}


def load_one(factory, n: int) -> str:
    path = write(factory.mktemp("d"), jsonl({"input": f"q{n}", "expected": n}))
    return load(path).cases[0].id


@pytest.mark.parametrize("value", [None, True, 1.5, "", " ", []])
def test_what_is_no_id_is_a_bad_row(tmp_path: Path, value: object) -> None:
    with pytest.raises(UserError, match="line 2"):
        load(write(tmp_path, jsonl(ROWS[0], {"id": value, "input": "x", "expected": 1})))


@pytest.mark.parametrize("value", [None, "", " \n", []])
def test_an_empty_input_is_a_bad_row(tmp_path: Path, value: object) -> None:
    with pytest.raises(UserError, match="'input' is empty"):
        load(write(tmp_path, jsonl({"id": "a", "input": value, "expected": 1})))


def test_equal_inputs_with_different_answers_are_refused_with_both_lines(tmp_path: Path) -> None:
    rows = [{"input": "2+2?", "expected": "4"}, {"input": "else", "expected": "1"}, {"input": "2+2?", "expected": "5"}]
    path = write(tmp_path, jsonl(*rows))
    with pytest.raises(UserError, match="lines 1 and 3 ask the same"):
        load(path)
    report = load(path, skip_bad=True)
    assert [case.input for case in report.cases] == ["else"]
    assert [row.line for row in report.skipped] == [1, 3]


def test_nearly_equal_inputs_with_different_answers_are_noted(tmp_path: Path) -> None:
    rows = [{"input": "Is A upper case?", "expected": "yes"}, {"input": "is a upper case?", "expected": "no"}]
    report = load(write(tmp_path, jsonl(*rows)))
    assert len(report.cases) == 2
    assert "lines 1 and 2" in report.notes[0]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c.txt", "x", "unknown kind of file"),
        ("c.json", '{"input": 1}', "not a list"),
        ("c.json", '[{"input": "a"}\n {"input": "b"}]', "cut off or broken"),
        ("c.json", '[{"input": "a"},\n', "not JSON"),
        ("c.csv", "input,input\na,b\n", "header"),
        ("c.jsonl", b"\xff\xfe{\x00}\x00", "UTF-16"),
        ("c.csv", b"input,expected\n\xff,1\n", "UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, name: str, text: str | bytes, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load(write(tmp_path, text, name))


def test_an_absent_file_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read the cases.*\n.*fix"):
        load(tmp_path / "none.jsonl")


def test_items_of_a_json_list_keep_their_lines(tmp_path: Path) -> None:
    text = '[\n{"id": "a", "input": "x", "expected": 1},\n{"id": "a",\n "input": "y", "expected": 1}]'
    with pytest.raises(UserError, match="lines 2 and 3 have one id"):
        load(write(tmp_path, text, "c.json"))


def test_csv_rows_with_other_widths_or_open_quotes_are_bad(tmp_path: Path) -> None:
    path = write(tmp_path, 'id,input,expected\na,x,1\nb,y\n\nc,"open', "c.csv")
    report = load(path, skip_bad=True)
    assert [case.id for case in report.cases] == ["a"]
    assert [row.line for row in report.skipped] == [3, 4, 5]


def test_real_task_sets_load(shared_data: Path) -> None:
    tasks = shared_data / "tasks"
    settings = DataSettings(cases="banking77_test.jsonl", input="text", expected="label", tags=("label",))
    report = load_cases(tasks / settings.cases, settings)
    assert len(report.cases) == 500
    assert report.cases[0].tags == {"label": "verify_source_of_funds"}
    gsm = DataSettings(cases="gsm8k_test.jsonl", input="question", expected="answer")
    assert len(load_cases(tasks / gsm.cases, gsm).cases) == 500
