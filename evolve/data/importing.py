"""Importing: files of other tools into one file of cases, checked as a campaign would check them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evolve.core.cases import Case, Dataset
from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from evolve.core.names import nearest
from evolve.data.columns import GROUP_COLUMN, Chosen, ImportOptions, choose_columns
from evolve.data.detect import FORMATS, SUFFIXES, detect
from evolve.data.folders import SPLIT_COLUMN, read_folder
from evolve.data.inspect_rows import read_inspect
from evolve.data.load import LoadReport, check_rows
from evolve.data.promptfoo import read_promptfoo
from evolve.data.read import read_rows
from evolve.data.rows import BadRow, Row, RowsRead
from evolve.data.settings import DataSettings, SplitSettings
from evolve.data.sound import SPLIT_NAMES, sound_rows
from evolve.data.split import split_cases
from evolve.data.write import line_bytes, write_rows

__all__ = ["ImportOptions", "Imported", "detect", "import_cases"]

SHOWN = 5


@dataclass(frozen=True)
class Imported:
    """What was written: the cases, the settings that read them, the scorer that fits, and notes.

    `dataset` is None when there are too few cases for three splits; a note says so.
    """

    report: LoadReport
    settings: DataSettings
    scorer: str
    dataset: Dataset | None = None
    notes: tuple[str, ...] = field(default=())


def import_cases(source: Path, out: Path, options: ImportOptions) -> Imported:
    """Writes the cases of `source` as JSONL to `out`, whole or not at all; a campaign accepts what is written.

    UserError for a format or column that cannot be told, for two cases with one id, and, without `skip_bad`, for bad
    rows with their places.
    """
    kind, reason = _format(source, options.format)
    read, scorer = _read(source, kind, options.max_line_bytes)
    read.notes.insert(0, f"format: {kind} ({reason})")
    if not read.rows and not read.bad:
        raise UserError("no cases in this source", place=str(source), fix="one case a row, with an input each")
    chosen = choose_columns(source, read, options) if read.rows else Chosen("input", "expected", None, (), None, None)
    kept, cases, bad, notes = sound_rows(source, read, chosen)
    if bad and not options.skip_bad:
        raise _refused(source, read, bad)
    if not kept:
        raise _refused(source, read, bad, left="no usable case is left")
    kept = _limited(kept, options.limit)
    rows = [_written(row, cases[row.line]) for row in kept]
    settings = _settings(out, rows, read.notes)
    report = check_rows(out, RowsRead([Row(n, values) for n, values in enumerate(rows, start=1)]), settings)
    dataset = _dataset(report, settings, read.notes)
    write_rows(out, rows)
    return Imported(report, settings, scorer, dataset, (*read.notes, *_counted(read, bad), *notes))


def _format(source: Path, asked: str | None) -> tuple[str, str]:
    found = detect(source)
    if asked in (None, "auto"):
        return found
    if asked not in FORMATS:
        near = nearest(str(asked), FORMATS)
        fix = f"did you mean {near}?" if near else f"one of {', '.join(FORMATS)}"
        raise UserError(f"there is no format {asked!r}", place="--format", fix=fix)
    if asked == "hf":
        return ("folder" if source.is_dir() else "rows"), "as asked: hf"
    return str(asked), "as asked"


def _read(source: Path, kind: str, max_line_bytes: int) -> tuple[RowsRead, str]:
    if kind == "promptfoo":
        return read_promptfoo(source, max_line_bytes)
    if kind == "inspect":
        return read_inspect(source, max_line_bytes)
    read = (
        read_folder(source, max_line_bytes)
        if kind == "folder"
        else read_rows(source, max_line_bytes, SUFFIXES.get(kind))
    )
    return read, "{kind: exact}"


def _refused(source: Path, read: RowsRead, bad: Sequence[BadRow], left: str = "") -> UserError:
    shown = "\n  ".join(f"{read.place(row.line)}: {row.reason}" for row in bad[:SHOWN])
    more = f"\n  and {len(bad) - SHOWN} more" if len(bad) > SHOWN else ""
    fix = "correct them" if left else "correct them, or leave them out and counted with --skip-bad"
    count = f"{len(bad)} bad row{'s' if len(bad) != 1 else ''}"
    return UserError(f"{f'{left}: ' if left else ''}{count}\n  {shown}{more}", place=str(source), fix=fix)


def _counted(read: RowsRead, bad: Sequence[BadRow]) -> list[str]:
    """What was left out: the count of all, and of each kind of reason its count and first place."""
    if not bad:
        return []
    kinds = Counter(row.reason for row in bad)
    first = {row.reason: row.line for row in reversed(bad)}
    shown = [f"{count} × {reason} (first: {read.place(first[reason])})" for reason, count in kinds.most_common(SHOWN)]
    more = [f"and {len(kinds) - SHOWN} other reasons"] if len(kinds) > SHOWN else []
    return [f"{len(bad)} bad rows were left out: {'; '.join([*shown, *more])}"]


def _limited(rows: list[Row], limit: int | None) -> list[Row]:
    """The first `limit` rows; of each split in proportion, and one at least where the limit allows it."""
    if limit is None or limit >= len(rows):
        return rows
    sizes = Counter(str(row.values.get(SPLIT_COLUMN, "")) for row in rows)
    ranks = Counter[str]()
    order = []
    for place, row in enumerate(rows):
        split = str(row.values.get(SPLIT_COLUMN, ""))
        order.append((ranks[split] / sizes[split], place))
        ranks[split] += 1
    return [rows[place] for place in sorted(place for _, place in sorted(order)[:limit])]


def _written(row: Row, case: Case) -> dict[str, JSONValue]:
    return {"id": case.id, **row.values} | {"id": case.id}


def _settings(out: Path, rows: Sequence[Mapping[str, JSONValue]], notes: list[str]) -> DataSettings:
    """How a campaign reads the file. A split column is used when all three splits are there."""
    grouped = GROUP_COLUMN if any(GROUP_COLUMN in row for row in rows) else None
    splits = {str(row[SPLIT_COLUMN]) for row in rows if SPLIT_COLUMN in row}
    longest = max(map(line_bytes, rows))
    settings = DataSettings(cases=out.name, group_by=grouped)
    if longest > settings.max_line_bytes:
        settings = settings.model_copy(update={"max_line_bytes": longest})
    if splits == SPLIT_NAMES:
        return settings.model_copy(update={"split": SplitSettings(column=SPLIT_COLUMN)})
    if splits:
        missing = ", ".join(sorted(SPLIT_NAMES - splits))
        notes.append(f"the source has no {missing}: splits are drawn from all cases instead")
    return settings


def _dataset(report: LoadReport, settings: DataSettings, notes: list[str]) -> Dataset | None:
    try:
        return split_cases(report.cases, settings.split, report.origins, name=Path(settings.cases).stem)
    except UserError as error:
        if settings.split.column is not None:
            raise
        notes.append(f"too few for a campaign: {error.message}")
        return None
