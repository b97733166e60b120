"""Inspect samples: read as Inspect reads them; what a case cannot carry is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evolve.core.errors import UserError
from tests.data.importing import imported, json_lines


def sample(**fields: Any) -> dict[str, Any]:
    return {"input": "Which?", "target": "A", **fields}


def test_texts_that_look_like_json_stay_texts(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "s.jsonl", sample(input="[1, 2]", target='{"a": 1}'))
    _, rows = imported(path, tmp_path)
    assert (rows[0]["input"], rows[0]["expected"]) == ("[1, 2]", '{"a": 1}')


def test_targets_are_texts_and_a_list_accepts_any(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "s.jsonl", sample(target=42), sample(input="b", target=["x", 7]))
    found, rows = imported(path, tmp_path)
    assert [row["expected"] for row in rows] == [["42"], ["x", "7"]]
    assert found.scorer == "{kind: exact, any_of: true}"


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_choices_in_one_text_are_parted_at_commas(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"s.{suffix}"
    if suffix == "csv":
        path.write_text('input,target,choices\nWhich?,b,"red, blue"\n')
    else:
        json_lines(path, sample(target="b", choices="red, blue"))
    found, rows = imported(path, tmp_path)
    assert (rows[0]["input"], rows[0]["expected"]) == ("Which?\nA) red\nB) blue", "B")
    assert found.scorer == "{kind: choice}"


def test_messages_keep_their_roles_and_parts_of_text_are_joined(tmp_path: Path) -> None:
    turns = [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
        {"role": "assistant", "content": "?"},
    ]
    _, rows = imported(json_lines(tmp_path / "s.jsonl", sample(input=turns, choices=["x", "y"])), tmp_path)
    assert [(turn["role"], turn["content"]) for turn in rows[0]["input"]] == [
        ("system", "Be short."), ("user", "one\ntwo\nA) x\nB) y"), ("assistant", "?"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"files": {"a.txt": "x"}}, "'files'"),
        ({"setup": "apt install x"}, "'setup'"),
        ({"sandbox": ["docker", "compose.yaml"]}, "'sandbox'"),
        ({"target": ""}, "`input` and `target`"),
        ({"target": None}, "`input` and `target`"),
        ({"input": ""}, "`input` and `target`"),
        ({"input": {"q": 1}}, "neither a text nor a list of messages"),
        ({"input": [{"content": "no role"}]}, "neither a text nor a list of messages"),
        ({"input": [{"role": "user", "content": [{"type": "image", "image": "x"}]}]}, "something else than text"),
        ({"metadata": "no object"}, "`metadata`"),
    ],
)
def test_what_a_case_cannot_carry_is_a_bad_row(tmp_path: Path, fields: dict[str, Any], named: str) -> None:
    path = json_lines(tmp_path / "s.jsonl", sample(input="fine"), sample(**fields))
    with pytest.raises(UserError, match="row 2: ") as caught:
        imported(path, tmp_path)
    assert named in caught.value.message
    _, rows = imported(path, tmp_path, skip_bad=True)
    assert [row["input"] for row in rows] == ["fine"]


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"target": ["A", "B"]}, "several right choices"),
        ({"target": "AB"}, "several right choices"),
        ({"target": "red"}, "not one letter"),
        ({"target": "C"}, "none of the 2 choices"),
        ({"choices": [str(n) for n in range(27)]}, "more than there are letters"),
        ({"input": [{"role": "system", "content": "s"}]}, "user turn"),
    ],
)
def test_a_choice_is_one_letter_of_those_there(tmp_path: Path, fields: dict[str, Any], named: str) -> None:
    path = json_lines(tmp_path / "s.jsonl", sample(**{"choices": ["red", "blue"], **fields}))
    with pytest.raises(UserError) as caught:
        imported(path, tmp_path)
    assert named in caught.value.message


def test_samples_with_and_without_choices_are_refused_together(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "s.jsonl", sample(choices=["x"]), sample(input="free"))
    with pytest.raises(UserError, match="1 samples have choices and 1 have none"):
        imported(path, tmp_path)


def test_fields_that_are_left_behind_are_named(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "s.jsonl", sample(difficulty="hard", metadata={"deep": {"x": 1}, "level": 2}))
    found, rows = imported(path, tmp_path)
    assert rows[0]["tags"] == {"level": "2"}
    assert "fields that are not carried over: difficulty" in found.notes
    assert any("nested: deep" in note for note in found.notes)
