"""Rows of any source under our column names; whatever was guessed is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from evolve.core.names import nearest
from evolve.data.folders import SPLIT_COLUMN, SPLITS
from evolve.data.rows import BadRow, Row, RowsRead

INPUTS = ("input", "question", "query", "prompt", "text", "instruction", "problem")
OUTPUTS = ("expected", "answer", "target", "label", "output", "solution", "gold")
GROUP_COLUMN = "group"


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
    split_column: str | None = None
    group: str | None = None


@dataclass(frozen=True)
class Chosen:
    """The source's name of each of our columns; None: not there."""

    input: str
    expected: str
    id: str | None
    tags: tuple[str, ...]
    group: str | None
    split: str | None


def choose_columns(source: Path, read: RowsRead, options: ImportOptions) -> Chosen:
    """Adds what was guessed to the notes. UserError for a column that no row has, or that cannot be told."""
    present = list(dict.fromkeys(name for row in read.rows for name in row.values))
    asked = [("--id", options.id), ("--group", options.group), ("--split-column", options.split_column)]
    for option, name in [*asked, *(("--tags", name) for name in options.tags)]:
        _require(option, name, present)
    return Chosen(
        input=_column(source, ("--input", options.input, INPUTS), present, read.notes),
        expected=_column(source, ("--expected", options.expected, OUTPUTS), present, read.notes),
        id=options.id or ("id" if "id" in present else None),
        tags=options.tags,
        group=options.group,
        split=options.split_column or _split_column(read, present),
    )


def _require(option: str, name: str | None, present: Sequence[str]) -> None:
    if name is not None and name not in present:
        near = nearest(name, present)
        fix = f"did you mean {near!r}?" if near else f"columns: {', '.join(present)}"
        raise UserError(f"no row has a column {name!r}", place=option, fix=fix)


def _column(
    source: Path, wanted: tuple[str, str | None, Sequence[str]], present: Sequence[str], notes: list[str]
) -> str:
    option, asked, usual = wanted
    _require(option, asked, present)
    if asked is not None:
        return asked
    found = next((name for name in usual if name in present), None)
    if found is None:
        columns = ", ".join(present)
        raise UserError(f"which column? there are {columns}", place=str(source), fix=f"{option} COLUMN")
    if found != usual[0]:
        notes.append(f"{option[2:]} is read from column {found!r} ({option} to change it)")
    return found


def _split_column(read: RowsRead, present: Sequence[str]) -> str | None:
    """A column `split` counts when each of its values names a split."""
    if SPLIT_COLUMN not in present:
        return None
    values = {str(row.values.get(SPLIT_COLUMN, "")).lower() for row in read.rows}
    strange = sorted(value for value in values if value not in SPLITS)
    if strange:
        shown = ", ".join(map(repr, strange[:3]))
        read.notes.append(f"column {SPLIT_COLUMN!r} is no split, for it holds {shown} (--split-column to insist)")
    return None if strange else SPLIT_COLUMN


def map_rows(read: RowsRead, chosen: Chosen) -> Iterator[tuple[Row, BadRow | None]]:
    """Each row under our names, and why it is bad, if so."""
    unnamed = chosen.id is not None and sum(row.values.get(chosen.id) in (None, "") for row in read.rows)
    if unnamed and unnamed < len(read.rows):
        read.notes.append(f"{unnamed} rows without an id are named after their place")
    named = chosen.id is not None and unnamed < len(read.rows)
    renamed: dict[str, str] = {}
    for row in read.rows:
        values, reason = _renamed(row, chosen, named)
        if chosen.split is not None:
            word = str(row.values.get(chosen.split, "")).lower()
            values[SPLIT_COLUMN] = SPLITS.get(word, "")
            renamed[word] = values[SPLIT_COLUMN]
            reason = reason if values[SPLIT_COLUMN] else f"{word!r} names no split; known: {', '.join(SPLITS)}"
        yield Row(row.line, values), BadRow(row.line, reason) if reason else None
    if any(word != split for word, split in renamed.items()):
        words = ", ".join(f"{word} → {split}" for word, split in renamed.items() if split)
        read.notes.append(f"splits of column {chosen.split!r}: {words}")


def _renamed(row: Row, chosen: Chosen, named: bool) -> tuple[dict[str, JSONValue], str]:
    """(the row under our names but for its split, what is wrong)."""
    values: dict[str, JSONValue] = {"input": row.values.get(chosen.input), "expected": row.values.get(chosen.expected)}
    reason = f"no answer in {chosen.expected!r}" if values["expected"] in (None, "") else ""
    if named and chosen.id is not None:
        ident = row.values.get(chosen.id)
        values = {"id": f"row-{row.line}" if ident in (None, "") else ident, **values}
    own = row.values.get("tags")
    tags: dict[str, JSONValue] = dict(own) if isinstance(own, Mapping) else {}
    if isinstance(own, list):
        tags = {str(tag): "yes" for tag in own}
    tags |= {name: str(row.values[name]) for name in chosen.tags if row.values.get(name) not in (None, "")}
    values |= {"tags": tags} if tags else {}
    if chosen.group is not None and row.values.get(chosen.group) not in (None, ""):
        values[GROUP_COLUMN] = row.values[chosen.group]
    return values, reason
