"""What a campaign would refuse, found before anything is written: bad rows, repeats, conflicts, overlapping splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from evolve.core.cases import Case, Split
from evolve.core.errors import UserError
from evolve.data.columns import GROUP_COLUMN, Chosen, map_rows
from evolve.data.folders import SPLIT_COLUMN
from evolve.data.load import check_rows
from evolve.data.overlaps import ORDER, overlapping
from evolve.data.rows import BadRow, Row, RowsRead
from evolve.data.settings import DataSettings

SPLIT_NAMES = frozenset(split.value for split in Split)


def sound_rows(
    source: Path, read: RowsRead, chosen: Chosen
) -> tuple[list[Row], Mapping[int, Case], list[BadRow], Sequence[str]]:
    """(rows under our names, their cases by line, bad rows, notes of the checks). UserError for one id twice."""
    rows: list[Row] = []
    bad = list(read.bad)
    for row, why in map_rows(read, chosen):
        bad += [why] if why else []
        rows += [] if why else [row]
    rows, repeated = _once(read, rows)
    _refuse_equal_ids(source, read, rows)
    grouped = GROUP_COLUMN if any(GROUP_COLUMN in row.values for row in rows) else None
    settings = DataSettings(cases=source.name or ".", skip_bad=True, group_by=grouped)
    report = check_rows(source, RowsRead(rows), settings)
    by_line = {int(report.origins[case.id].place.rpartition(":")[2]): case for case in report.cases}
    kept = [row for row in rows if row.line in by_line]
    kept, apart = _apart(read, kept, by_line)
    bad = sorted([*bad, *repeated, *report.skipped, *apart], key=lambda row: row.line)
    return kept, by_line, bad, report.notes


def _once(read: RowsRead, rows: Sequence[Row]) -> tuple[list[Row], list[BadRow]]:
    """Rows without ids of their own are the same when they ask and expect the same.

    One stays: the first in heldout, else in dev, else the first.
    """
    keys = ["" if "id" in row.values else _fingerprint(row) for row in rows]
    best: dict[str, Row] = {}
    for key, row in zip(keys, rows, strict=True):
        if key and (key not in best or _rank(row) < _rank(best[key])):
            best[key] = row
    kept, bad = [], []
    for key, row in zip(keys, rows, strict=True):
        if key and best[key].line != row.line:
            bad.append(BadRow(row.line, f"the same case as {read.place(best[key].line)}"))
        else:
            kept.append(row)
    return kept, bad


def _rank(row: Row) -> int:
    return ORDER.get(str(row.values.get(SPLIT_COLUMN)), len(ORDER))


def _fingerprint(row: Row) -> str:
    try:
        return Case("", row.values["input"], row.values["expected"]).fingerprint
    except (ValueError, TypeError):
        return ""


def _refuse_equal_ids(source: Path, read: RowsRead, rows: Sequence[Row]) -> None:
    first: dict[str, int] = {}
    for row in rows:
        ident = str(row.values.get("id", f"\0{row.line}"))
        if first.setdefault(ident, row.line) != row.line:
            places = f"{read.place(first[ident])} and {read.place(row.line)}"
            fix = "give each case an id of its own, or name another column with --id"
            raise UserError(f"{places} have one id, {ident!r}", place=str(source), fix=fix)


def _apart(read: RowsRead, rows: list[Row], cases: Mapping[int, Case]) -> tuple[list[Row], list[BadRow]]:
    """Rows whose text or group stands in one split only, when the source states all splits."""
    if {row.values.get(SPLIT_COLUMN) for row in rows} != SPLIT_NAMES:
        return rows, []
    lines = {cases[row.line].id: row.line for row in rows}
    splits = {cases[row.line].id: str(row.values[SPLIT_COLUMN]) for row in rows}
    found = overlapping([cases[row.line] for row in rows], splits)
    bad = [
        BadRow(lines[ident], f"{splits[ident]}, and {read.place(lines[first.id])} ({splits[first.id]}): they {how}")
        for ident, (first, how) in found.items()
    ]
    return [row for row in rows if cases[row.line].id not in found], bad
