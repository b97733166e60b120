"""Units: the sets of cases that must stay on one side of a split, because they share a text or a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evolve.core.cases import Case


@dataclass(frozen=True, slots=True)
class Unit:
    """`key` depends on content only: the smallest group name, else the text all cases share."""

    key: str
    cases: tuple[Case, ...]


def units_of(cases: Sequence[Case]) -> list[Unit]:
    """Cases joined through equal normalised texts and equal groups, transitively; in order of first appearance."""
    parent = list(range(len(cases)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    first: dict[str, int] = {}
    for index, case in enumerate(cases):
        for key in _keys(case):
            parent[root(index)] = root(first.setdefault(key, index))
    members: dict[int, list[Case]] = {}
    for index, case in enumerate(cases):
        members.setdefault(root(index), []).append(case)
    return [Unit(min(key for case in found for key in _keys(case)), tuple(found)) for found in members.values()]


def share_key(first: Case, other: Case) -> str:
    """How two cases of one unit belong together, for messages."""
    if first.text_key == other.text_key:
        return "have the same text"
    if first.group and first.group == other.group:
        return f"are of one group, {first.group!r}"
    return "are joined by cases that share a text or a group with both"


def _keys(case: Case) -> list[str]:
    """Group keys sort before text keys."""
    text = f"text:{case.text_key}"
    return [f"group:{case.group}", text] if case.group else [text]
