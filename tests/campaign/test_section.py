"""The data section of a campaign file is replaced, and every other byte stays."""

from __future__ import annotations

import pytest

from evolve.campaign.section import with_data_section

NEW = "data:\n  cases: new.jsonl"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: 1\ndata:\n  cases: c\n  # inside\n  id: x\n\n# about b\nb: 2\n", f"a: 1\n{NEW}\n\n# about b\nb: 2\n"),
        ("data: {cases: c}\nb: 2\n", f"{NEW}\nb: 2\n"),
        ("data: {\n  cases: c\n}\nb: 2\n", f"{NEW}\nb: 2\n"),
        ("data:\n- x\n- y\nb: 2", f"{NEW}\nb: 2"),
        ("b: 2\ndata:\n  cases: c", f"b: 2\n{NEW}\n"),
        ("'data':\n  cases: c\nb: 2\n", f"{NEW}\nb: 2\n"),
        ("a: 1\r\ndata:\r\n  cases: c\r\nb: 2\r\n", "a: 1\r\ndata:\r\n  cases: new.jsonl\r\nb: 2\r\n"),
    ],
)
def test_only_the_section_changes(before: str, after: str) -> None:
    assert with_data_section(before, NEW) == after


@pytest.mark.parametrize("text", ["a: 1\n", "{data: {cases: c}}\n", "data: {a: 1}\ndata: {a: 2}\n"])
def test_a_file_without_one_section_of_its_own_is_left_alone(text: str) -> None:
    assert with_data_section(text, NEW) is None
