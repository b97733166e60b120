"""Case 12: a proposal equal to its parent or to an earlier reject, but for white space, is dropped as a duplicate."""

from __future__ import annotations

import json

import pytest

from harnesses.answer import ProposalRefused, read_model_proposal
from harnesses.proposal import is_duplicate, normal_tree_hash
from harnesses.seeds import library_harness

PARENT = library_harness("json-answer")


def _change(path: str, old: str, new: str) -> dict[str, bytes]:
    assert old in PARENT[path].decode()
    return {**PARENT, path: PARENT[path].decode().replace(old, new).encode()}


def _reply(content: str, path: str = "prompts/answer.md") -> str:
    words = dict.fromkeys(("cause", "lever", "predicted_effect", "refuted_by"), "x")
    return json.dumps({**words, "edits": [{"path": path, "content": content}]})


@pytest.mark.parametrize(
    "same",
    [
        _change("prompts/answer.md", "Answer with JSON only.", "Answer   with\n JSON\tonly. \n\n"),
        _change("workflow.yaml", "max_visits: 1", "max_visits:   1   # as before"),
        _change("workflow.yaml", "start: answer\nnodes:\n  answer:", "start: reply\nnodes:\n  reply:"),
        _change("harness.yaml", "forbidden: []", "forbidden: [\n]"),
    ],
    ids=["prompt", "workflow", "node name", "manifest"],
)
def test_white_space_and_spelling_of_data_make_no_new_tree(same: dict[str, bytes]) -> None:
    assert is_duplicate(same, {normal_tree_hash(PARENT)})


@pytest.mark.parametrize(
    "other",
    [
        _change("prompts/answer.md", "JSON only", "JSON"),
        _change("prompts/answer.md", "Answer", "answer"),
        _change("workflow.yaml", "max_tokens: 80", "max_tokens: 100"),
        {**PARENT, "demonstrations/x.jsonl": b'{"id": "1", "input": "a", "output": "b"}\n'},
    ],
    ids=["word", "case", "parameter", "file"],
)
def test_anything_else_does(other: dict[str, bytes]) -> None:
    assert not is_duplicate(other, {normal_tree_hash(PARENT)})


def test_a_reply_equal_to_the_parent_is_dropped() -> None:
    with pytest.raises(ProposalRefused) as refused:
        read_model_proposal(_reply(PARENT["prompts/answer.md"].decode() + "\n \n"), PARENT)
    assert refused.value.kind == "duplicate"


def test_a_reply_equal_to_an_earlier_reject_is_dropped() -> None:
    rejected = read_model_proposal(_reply("{input}\n\nOne JSON object.\n"), PARENT)
    with pytest.raises(ProposalRefused) as refused:
        read_model_proposal(_reply("{input}\n\n\nOne  JSON object."), PARENT, seen={rejected.normal_hash})
    assert refused.value.kind == "duplicate"


def test_rows_of_demonstrations_are_compared_as_data() -> None:
    tight = {**PARENT, "demonstrations/x.jsonl": b'{"id":"1","input":"a","output":{"b":1,"c":2}}'}
    loose = {**PARENT, "demonstrations/x.jsonl": b'\n{ "output": {"c": 2, "b": 1}, "id": "1", "input": "a" }\n\n'}
    assert normal_tree_hash(tight) == normal_tree_hash(loose)
    moved = {**PARENT, "demonstrations/x.jsonl": b'{"id":"1","input":"a ","output":{"b":1,"c":2}}'}
    assert normal_tree_hash(tight) != normal_tree_hash(moved)
