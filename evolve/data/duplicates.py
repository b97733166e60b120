"""Two cases that cannot both be right: one id twice, or one input with two expected values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evolve.core.cases import Case
from evolve.core.errors import UserError
from evolve.core.hashing import content_hash
from evolve.data.rows import BadRow

Lined = tuple[int, Case]
"""A case with the line it starts on."""


def refuse_equal_ids(path: Path, cases: Sequence[Lined]) -> None:
    """UserError with both lines for ids that are equal as text, so `1` beside `"1"` too."""
    first: dict[str, int] = {}
    for line, case in cases:
        if case.id in first:
            raise UserError(
                f"lines {first[case.id]} and {line} have one id, {case.id!r}",
                place=f"{path}:{line}",
                fix='give each case an id of its own (1 and "1" are one id), or remove the repeated row',
            )
        first[case.id] = line


def drop_conflicts(path: Path, cases: Sequence[Lined], skip: bool) -> tuple[list[Lined], list[BadRow], list[str]]:
    """(kept, dropped, notes). Equal inputs with different expected values are refused, or all dropped with `skip`.

    Inputs that differ only in case, width or white space may well deserve different answers: those are noted.
    """
    found = _conflicts(cases, [content_hash(case.input) for _, case in cases])
    if found and not skip:
        lines = next(iter(found.values()))
        raise UserError(
            f"lines {_and(lines)} ask the same and expect different answers",
            place=f"{path}:{lines[-1]}",
            fix="correct or remove all but one; data.skip_bad: true leaves all of them out",
        )
    dropped = {line: lines for lines in found.values() for line in lines}
    kept = [(line, case) for line, case in cases if line not in dropped]
    near = _conflicts(kept, [case.text_key if isinstance(case.input, str) else case.id for _, case in kept])
    notes = [f"lines {_and(ls)} ask nearly the same and expect different answers" for ls in near.values()]
    bad = [
        BadRow(line, f"expects another answer than the equal input of {_others(line, ls)}")
        for line, ls in dropped.items()
    ]
    return kept, bad, notes


def _conflicts(cases: Sequence[Lined], keys: Sequence[str]) -> dict[str, list[int]]:
    """Lines by key, for the keys whose cases differ in what they expect."""
    lines: dict[str, list[int]] = {}
    answers: dict[str, set[str]] = {}
    for key, (line, case) in zip(keys, cases, strict=True):
        lines.setdefault(key, []).append(line)
        answers.setdefault(key, set()).add(content_hash(case.expected))
    return {key: found for key, found in lines.items() if len(answers[key]) > 1}


def _others(line: int, lines: Sequence[int]) -> str:
    others = [other for other in lines if other != line]
    return f"line{'s' if len(others) > 1 else ''} {_and(others)}"


def _and(lines: Sequence[int]) -> str:
    head = ", ".join(map(str, lines[:-1]))
    return f"{head} and {lines[-1]}" if head else str(lines[-1])
