"""Search and replace that must match exactly once, and says why when it does not."""

from __future__ import annotations

import difflib

_SEARCHED_LINES = 2000
"""How many lines are compared to find the nearest one for a reason."""


def replacement_problem(text: str, search: str) -> str:
    """Why `search` cannot be replaced in `text`, or "" when it occurs exactly once."""
    if not search:
        return "the search text is empty"
    places = _places(text, search)
    if len(places) == 1:
        return ""
    if places:
        lines = ", ".join(str(_line_of(text, at)) for at in places[:5])
        return f"the search text is ambiguous: {len(places)} matches (lines {lines}); add context lines"
    if drift := _drift_line(text, search):
        return f"the search text differs only in white space from line {drift[0]}: {drift[1]!r:.120}"
    return f"the search text is not in the file{_nearest_line(text, search)}"


def _places(text: str, search: str) -> list[int]:
    """Start of every match, overlapping ones too: `aa` in `aaa` is ambiguous."""
    places = []
    at = text.find(search)
    while at >= 0:
        places.append(at)
        at = text.find(search, at + 1)
    return places


def _line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _drift_line(text: str, search: str) -> tuple[int, str] | None:
    """The line where `search` would match if white space did not count."""
    places = [at for at, character in enumerate(text) if not character.isspace()]
    bare = "".join(search.split())
    found = "".join(text[at] for at in places).find(bare) if bare else -1
    if found < 0:
        return None
    line = _line_of(text, places[found])
    return line, text.split("\n")[line - 1]


def _nearest_line(text: str, search: str) -> str:
    first = next((line for line in search.split("\n") if line.strip()), "")
    lines = text.split("\n")[:_SEARCHED_LINES]
    close = difflib.get_close_matches(first, lines, n=1, cutoff=0.5)
    return f"; the nearest line is {lines.index(close[0]) + 1}: {close[0]!r:.120}" if close else ""
