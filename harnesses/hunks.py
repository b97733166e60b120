"""A small applier for unified diffs of one file: exact context or no change."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

_HEADER = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_REFUSED_HEADERS = {
    "rename from ": "renames are not supported: write the new file and delete the old one",
    "copy from ": "copies are not supported: write the new file",
    "--- /dev/null": "a diff changes a file: create one with a write edit",
    "+++ /dev/null": "a diff changes a file: delete one with a delete edit",
    "GIT binary patch": "binary content is not accepted",
    "Binary files ": "binary content is not accepted",
    "new file mode 120000": "symlinks are not accepted",
    "new mode 120000": "symlinks are not accepted",
}
_NO_NEWLINE = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class Hunk:
    """`old` and `new` are lines with their line ends; `start` is the 0-based line the header names."""

    number: int
    start: int
    old: tuple[str, ...]
    new: tuple[str, ...]


class HunkError(ValueError):
    """One reason per broken hunk, in order."""

    def __init__(self, reasons: Sequence[str]) -> None:
        self.reasons = tuple(reasons)
        super().__init__("; ".join(reasons))


def split_lines(text: str) -> list[str]:
    """Lines with their ends; only LF ends a line, so CR, U+2028 and form feeds survive byte for byte."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def unified_text(before: str, after: str, path: str) -> str:
    """The unified diff of one file with three lines of context; "" when equal."""
    out = []
    rows = difflib.unified_diff(split_lines(before), split_lines(after), f"a/{path}", f"b/{path}")
    for row in rows:
        out.append(row if row.endswith("\n") else f"{row}\n{_NO_NEWLINE}\n")
    return "".join(out)


def parse_hunks(diff: str, path: str) -> list[Hunk]:
    """The hunks of a diff of `path`. Raises HunkError for zero hunks, other files and malformed hunks."""
    lines = diff.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    at = _skip_headers(lines, path)
    hunks: list[Hunk] = []
    reasons: list[str] = []
    while at < len(lines):
        number = len(hunks) + len(reasons) + 1
        try:
            hunk, at = _read_hunk(lines, at, number)
            hunks.append(hunk)
        except HunkError as error:
            reasons.extend(error.reasons)
            at = _next_header(lines, at + 1)
    if reasons:
        raise HunkError(reasons)
    if not hunks:
        raise HunkError(["the diff holds no hunks"])
    return hunks


def apply_hunks(text: str, hunks: Sequence[Hunk]) -> str:
    """The changed text. Raises HunkError with a reason for each hunk that does not fit; never applies a part."""
    lines = split_lines(text)
    out: list[str] = []
    reasons: list[str] = []
    cursor = 0
    for hunk in hunks:
        place, reason = _place(lines, hunk, cursor)
        if reason:
            reasons.append(f"hunk {hunk.number}: {reason}")
            continue
        out += [*lines[cursor:place], *hunk.new]
        cursor = place + len(hunk.old)
    if reasons:
        raise HunkError(reasons)
    return "".join(out + lines[cursor:])


def _skip_headers(lines: Sequence[str], path: str) -> int:
    at = 0
    while at < len(lines) and not lines[at].startswith("@@"):
        for start, reason in _REFUSED_HEADERS.items():
            if lines[at].startswith(start):
                raise HunkError([reason])
        if lines[at].startswith(("--- ", "+++ ")):
            named = lines[at][4:].split("\t")[0].rstrip("\r")
            if named not in {path, f"a/{path}", f"b/{path}"}:
                raise HunkError([f"the diff names {named}, not {path}"])
        at += 1
    return at


def _next_header(lines: Sequence[str], at: int) -> int:
    return next((i for i in range(at, len(lines)) if lines[i].startswith("@@")), len(lines))


def _read_hunk(lines: Sequence[str], at: int, number: int) -> tuple[Hunk, int]:
    header = _HEADER.match(lines[at])
    if header is None:
        raise HunkError([f"hunk {number}: not a hunk header: {lines[at]!r:.80}"])
    old_left, new_left = (int(header[g]) if header[g] is not None else 1 for g in (2, 4))
    start = int(header[1]) - (1 if old_left else 0)
    old: list[str] = []
    new: list[str] = []
    at += 1
    while old_left > 0 or new_left > 0:
        if at == len(lines) or lines[at].startswith("@@"):
            raise HunkError([f"hunk {number}: ends early: {old_left} old and {new_left} new lines are missing"])
        mark, body, at = _read_line(lines, at)
        if mark not in " +-":
            raise HunkError([f"hunk {number}: a line starts with {mark!r}, not with a space, + or -"])
        if mark != "+":
            old.append(body)
            old_left -= 1
        if mark != "-":
            new.append(body)
            new_left -= 1
    if old_left or new_left or (at < len(lines) and not lines[at].startswith("@@")):
        raise HunkError([f"hunk {number}: holds more lines than its header says"])
    return Hunk(number, start, tuple(old), tuple(new)), at


def _read_line(lines: Sequence[str], at: int) -> tuple[str, str, int]:
    """Mark, content with its line end (none before a `\\ No newline` row), and where the next line starts."""
    mark, body = lines[at][:1] or " ", lines[at][1:]
    if at + 1 < len(lines) and lines[at + 1].startswith("\\"):
        return mark, body, at + 2
    return mark, body + "\n", at + 1


def _place(lines: Sequence[str], hunk: Hunk, cursor: int) -> tuple[int, str]:
    """Where the hunk fits at or after `cursor`: the stated line, else the only other place, else a reason."""
    size = len(hunk.old)
    if not size:
        return (hunk.start, "") if cursor <= hunk.start <= len(lines) else (0, "its line is outside the file")
    if hunk.start >= cursor and tuple(lines[hunk.start : hunk.start + size]) == hunk.old:
        return hunk.start, ""
    fits = [i for i in range(cursor, len(lines) - size + 1) if tuple(lines[i : i + size]) == hunk.old]
    if len(fits) == 1:
        return fits[0], ""
    if fits:
        return 0, f"its context fits at {len(fits)} places (lines {', '.join(str(i + 1) for i in fits[:5])})"
    bare = ["".join(line.split()) for line in hunk.old]
    for i in range(cursor, len(lines) - size + 1):
        if ["".join(line.split()) for line in lines[i : i + size]] == bare:
            return 0, f"its context differs only in white space from line {i + 1}: {lines[i].rstrip()!r:.120}"
    return 0, f"its context is not in the file; expected {hunk.old[0].rstrip()!r:.120}"
