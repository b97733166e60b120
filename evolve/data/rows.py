"""Rows of a file: objects with line numbers, and the rows that could not be used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evolve.core.hashing import JSONValue


@dataclass(frozen=True, slots=True)
class Row:
    """One object of the file; `line` is where it starts, from 1."""

    line: int
    values: Mapping[str, JSONValue]


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that could not be used, and why."""

    line: int
    reason: str


@dataclass(slots=True)
class RowsRead:
    """What a file held, in file order. `notes` say what was tolerated.

    Rows of several files are numbered through: `starts` holds the number before the first row of each, and its name.
    """

    rows: list[Row] = field(default_factory=list)
    bad: list[BadRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    starts: list[tuple[int, str]] = field(default_factory=list)

    def place(self, line: int) -> str:
        """`row 7`, or `test.csv row 2` for rows of several files."""
        before = [(start, name) for start, name in self.starts if start < line]
        return f"{before[-1][1]} row {line - before[-1][0]}" if before else f"row {line}"

    def settle_blanks(self, blanks: list[int], last: int) -> RowsRead:
        """A blank line before line `last` may be a lost row, so it is bad; at the end of a file it is only noted."""
        self.bad.extend(BadRow(line, "a blank line") for line in blanks if line < last)
        self.notes.extend(f"line {line}: a blank line at the end" for line in blanks if line > last)
        self.bad.sort(key=lambda row: row.line)
        return self
