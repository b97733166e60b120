"""Importing: files of other tools into one file of cases, checked as a campaign would check them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from evolve.core.names import nearest
from evolve.data.folders import SPLIT_COLUMN, read_folder
from evolve.data.inspect_rows import read_inspect
from evolve.data.load import LoadReport, load_cases
from evolve.data.promptfoo import read_promptfoo
from evolve.data.read import read_rows
from evolve.data.rows import RowsRead
from evolve.data.settings import DataSettings, SplitSettings

FORMATS = ("rows", "folder", "promptfoo", "inspect")
INPUTS = ("input", "question", "query", "prompt", "text", "instruction", "problem")
OUTPUTS = ("expected", "answer", "target", "label", "output", "solution", "gold")
SPLIT_NAMES = frozenset({"train", "dev", "heldout"})


@dataclass(frozen=True)
class ImportOptions:
    """How to read a source; None: told from what is there, and said in the notes."""

    format: str | None = None
    input: str | None = None
    expected: str | None = None
    id: str | None = None
    tags: tuple[str, ...] = ()
    limit: int | None = None
    skip_bad: bool = False
    max_line_bytes: int = 1_000_000


@dataclass(frozen=True)
class Imported:
    """What was written: the report of loading it again, the settings that do so, the scorer that fits, and notes."""

    report: LoadReport
    settings: DataSettings
    scorer: str
    notes: tuple[str, ...] = field(default=())


def import_cases(source: Path, out: Path, options: ImportOptions) -> Imported:
    """Writes the cases of `source` as JSONL to `out`, whole or not at all.

    UserError for a format or column that cannot be told, and, without `skip_bad`, for bad rows with their numbers.
    """
    kind, reason = (options.format, "as asked") if options.format else detect(source)
    if kind not in FORMATS:
        near = nearest(str(kind), FORMATS)
        raise UserError(f"there is no format {kind!r}", place="--format", fix=f"did you mean {near}?" if near else "")
    read, scorer = _read(source, str(kind), options.max_line_bytes)
    notes = [f"format: {kind} ({reason})", *read.notes]
    _refuse_bad(source, read, options.skip_bad)
    rows = _rows(source, read, options, notes)[: options.limit]
    draft = out.with_name(f".{out.name}.new.jsonl")
    draft.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    try:
        settings = _settings(out, rows, notes)
        report = load_cases(draft, settings.model_copy(update={"skip_bad": options.skip_bad}))
        os.replace(draft, out)
    finally:
        draft.unlink(missing_ok=True)
    if read.bad:
        notes.append(f"{len(read.bad)} bad rows were left out, the first: row {read.bad[0].line}: {read.bad[0].reason}")
    return Imported(report, settings, scorer, tuple(notes))


def detect(source: Path) -> tuple[str, str]:
    """(format, why). UserError when there is no such source."""
    if source.is_dir():
        return "folder", "a folder of files, a split each"
    if not source.exists():
        raise UserError("there is no such file or folder", place=str(source), fix="check the path")
    if source.suffix.lower() in (".yaml", ".yml"):
        return "promptfoo", "a YAML file of tests"
    if source.suffix.lower() == ".json":
        head = source.read_text(encoding="utf-8-sig", errors="replace")[:200_000].lstrip()
        if head.startswith("{"):
            return "promptfoo", "a JSON object, not a list of rows"
    columns = _columns(source)
    if any(name.startswith("__expected") for name in columns):
        return "promptfoo", "a column __expected"
    if {"input", "target"} <= columns and "expected" not in columns:
        return "inspect", "columns input and target"
    return "rows", "one case a row"


def _columns(source: Path) -> set[str]:
    return {name for row in read_rows(source, 10_000_000).rows[:50] for name in row.values}


def _read(source: Path, kind: str, max_line_bytes: int) -> tuple[RowsRead, str]:
    if kind == "promptfoo":
        return read_promptfoo(source, max_line_bytes)
    if kind == "inspect":
        return read_inspect(source, max_line_bytes)
    read = read_folder(source, max_line_bytes) if kind == "folder" else read_rows(source, max_line_bytes)
    return read, "{kind: exact}"


def _refuse_bad(source: Path, read: RowsRead, skip_bad: bool) -> None:
    if read.bad and not skip_bad:
        shown = "\n  ".join(f"row {bad.line}: {bad.reason}" for bad in read.bad[:5])
        more = f"\n  and {len(read.bad) - 5} more" if len(read.bad) > 5 else ""
        fix = "correct them, or leave them out and counted with --skip-bad"
        raise UserError(f"{len(read.bad)} bad rows\n  {shown}{more}", place=str(source), fix=fix)
    if not read.rows:
        raise UserError("no cases in this source", place=str(source), fix="one case a row, with an input each")


def _rows(source: Path, read: RowsRead, options: ImportOptions, notes: list[str]) -> list[dict[str, JSONValue]]:
    """Rows with our column names. `notes` says what was guessed."""
    present = list(dict.fromkeys(name for row in read.rows for name in row.values))
    question = _column(source, "--input", options.input, INPUTS, present, notes)
    answer = _column(source, "--expected", options.expected, OUTPUTS, present, notes)
    rows = []
    name = options.id or "id"
    without = sum(row.values.get(name) in (None, "") for row in read.rows)
    if 0 < without < len(read.rows):
        notes.append(f"{without} rows without an id are named after their place")
    for row in read.rows:
        found: dict[str, JSONValue] = {"input": row.values.get(question), "expected": row.values.get(answer)}
        if without < len(read.rows):
            ident = row.values.get(name)
            found = {"id": f"row-{row.line}" if ident in (None, "") else ident, **found}
        tags = dict(row.values["tags"]) if isinstance(row.values.get("tags"), dict) else {}
        tags |= {name: str(row.values[name]) for name in options.tags if row.values.get(name) not in (None, "")}
        found |= {"tags": tags} if tags else {}
        if SPLIT_COLUMN in row.values:
            found[SPLIT_COLUMN] = row.values[SPLIT_COLUMN]
        rows.append(found)
    return rows


def _column(
    source: Path, option: str, asked: str | None, usual: Sequence[str], present: Sequence[str], notes: list[str]
) -> str:
    if asked is not None:
        if asked not in present:
            near = nearest(asked, present)
            fix = f"did you mean {near!r}?" if near else f"columns: {', '.join(present)}"
            raise UserError(f"no row has a column {asked!r}", place=option, fix=fix)
        return asked
    found = next((name for name in usual if name in present), None)
    if found is None:
        columns = ", ".join(present)
        raise UserError(f"which column? there are {columns}", place=str(source), fix=f"{option} COLUMN")
    if found != usual[0]:
        notes.append(f"{option[2:]} is read from column {found!r} ({option} to change it)")
    return found


def _settings(out: Path, rows: Sequence[Mapping[str, JSONValue]], notes: list[str]) -> DataSettings:
    """How a campaign reads the file. A split column is used when all three splits are there."""
    splits = {str(row[SPLIT_COLUMN]) for row in rows if SPLIT_COLUMN in row}
    if splits == SPLIT_NAMES and all(SPLIT_COLUMN in row for row in rows):
        return DataSettings(cases=out.name, split=SplitSettings(column=SPLIT_COLUMN))
    if splits:
        missing = ", ".join(sorted(SPLIT_NAMES - splits))
        notes.append(f"the source has no {missing}: splits are drawn from all cases instead")
    return DataSettings(cases=out.name)
