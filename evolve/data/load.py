"""Rows to cases: columns are mapped, ids checked, and everything that cannot be trusted is refused with its line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evolve.core.cases import Case
from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue, short
from evolve.core.names import nearest
from evolve.data.duplicates import drop_conflicts, refuse_equal_ids
from evolve.data.read import read_rows
from evolve.data.rows import BadRow, Row, RowsRead
from evolve.data.settings import DataSettings

SHOWN_BAD_ROWS = 5


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a case came from, `file:line`, and what the file's split column says ("" without one)."""

    place: str
    split: str = ""


@dataclass(frozen=True)
class LoadReport:
    """The cases in file order, the bad rows left out by `skip_bad`, what was tolerated, and origins by case id."""

    cases: tuple[Case, ...]
    skipped: tuple[BadRow, ...] = ()
    notes: tuple[str, ...] = ()
    origins: Mapping[str, Origin] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that a file really has, after defaults are settled."""

    id: str | None
    input: str
    expected: str | None
    tags: tuple[str, ...]
    group: str | None
    split: str | None


def load_cases(path: Path, settings: DataSettings) -> LoadReport:
    """Reads, maps and checks a file of cases.

    UserError for an absent or empty file, a column that is not there, two cases with one id, and, without `skip_bad`,
    for bad rows and for equal inputs with different expected values.
    """
    read = read_rows(path, settings.max_line_bytes)
    if not read.rows and (settings.skip_bad or not read.bad):
        raise UserError("no cases in this file", place=str(path), fix="one case a row, with an input each")
    report = check_rows(path, read, settings)
    if not report.cases:
        raise UserError("no usable case is left in this file", place=str(path), fix="see the first bad rows of `check`")
    return report


def check_rows(path: Path, read: RowsRead, settings: DataSettings) -> LoadReport:
    """Maps and checks rows that were read from `path`; with `skip_bad`, perhaps no case is left.

    UserError as for load_cases.
    """
    columns = settle_columns(path, settings, read.rows)
    mapped, bad = _map_rows(read.rows, columns)
    refuse_equal_ids(path, [(row.line, case) for row, case in mapped])
    bad = sorted([*read.bad, *bad], key=lambda row: row.line)
    if bad and not settings.skip_bad:
        raise _bad_rows(path, bad)
    kept, conflicts, notes = drop_conflicts(path, [(row.line, case) for row, case in mapped], settings.skip_bad)
    splits = {row.line: str(row.values.get(columns.split, "")) if columns.split else "" for row, _ in mapped}
    return LoadReport(
        cases=tuple(case for _, case in kept),
        skipped=tuple(sorted([*bad, *conflicts], key=lambda row: row.line)),
        notes=(*read.notes, *notes),
        origins={case.id: Origin(f"{path}:{line}", splits[line]) for line, case in kept},
    )


def settle_columns(path: Path, settings: DataSettings, rows: Sequence[Row]) -> Columns:
    """Settings against the columns that are there; UserError with the nearest name for one that no row has."""
    present = dict.fromkeys(name for row in rows for name in row.values)
    wanted = {
        "input": settings.input,
        "expected": settings.expected,
        "id": settings.id,
        "group_by": settings.group_by,
        "split.column": settings.split.column,
        **{f"tags.{number}": name for number, name in enumerate(settings.tags or ())},
    }
    for key, name in wanted.items() if rows else ():
        if name is not None and name not in present:
            raise _no_column(path, key, name, present)
    return Columns(
        id=settings.id or ("id" if "id" in present else None),
        input=settings.input,
        expected=settings.expected,
        tags=settings.tags if settings.tags is not None else (("tags",) if "tags" in present else ()),
        group=settings.group_by,
        split=settings.split.column,
    )


def _no_column(path: Path, key: str, name: str, present: Iterable[str]) -> UserError:
    near = nearest(name, present)
    guess = f"did you mean {near!r}? " if near else ""
    fix = f"{guess}set data.{key} to one of the columns: {', '.join(map(repr, present))}"
    if key == "expected":
        fix += "; or to null when the scorer needs no expected value"
    return UserError(f"no row has a column {name!r} (data.{key})", place=str(path), fix=fix)


def _bad_rows(path: Path, bad: Sequence[BadRow]) -> UserError:
    shown = [f"line {row.line}: {row.reason}" for row in bad[:SHOWN_BAD_ROWS]]
    more = [f"and {len(bad) - SHOWN_BAD_ROWS} more"] if len(bad) > SHOWN_BAD_ROWS else []
    message = f"{len(bad)} bad row{'s' if len(bad) > 1 else ''}\n  " + "\n  ".join([*shown, *more])
    fix = "correct them, or leave them out and counted: data.skip_bad: true, or `evolve data import --skip-bad`"
    return UserError(message, place=f"{path}:{bad[0].line}", fix=fix)


def _map_rows(rows: Sequence[Row], columns: Columns) -> tuple[list[tuple[Row, Case]], list[BadRow]]:
    mapped: list[tuple[Row, Case]] = []
    bad: list[BadRow] = []
    for row in rows:
        try:
            mapped.append((row, _case(row.values, columns)))
        except ValueError as error:
            bad.append(BadRow(row.line, str(error)))
    return mapped, bad


def _case(values: Mapping[str, JSONValue], columns: Columns) -> Case:
    query = _present(values, columns.input)
    if query is None or query == [] or (isinstance(query, str) and not query.strip()):
        raise ValueError(f"{columns.input!r} is empty")
    expected = _present(values, columns.expected) if columns.expected is not None else None
    group = _scalar(values.get(columns.group), columns.group) if columns.group is not None else ""
    tags = {key: value for name in columns.tags for key, value in _tags(name, values.get(name)).items()}
    case = Case(id="", input=query, expected=expected, tags=tags, group=group)
    ident = _id(values, columns.id) if columns.id is not None else short(case.fingerprint)
    return Case(ident, query, expected, tags, group)


def _present(values: Mapping[str, JSONValue], name: str) -> JSONValue:
    if name not in values:
        raise ValueError(f"no {name!r} in this row")
    return values[name]


def _id(values: Mapping[str, JSONValue], name: str) -> str:
    value = _present(values, name)
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise ValueError(f"{name!r} is {value!r}: an id is a text or a whole number")
    return str(value)


def _tags(name: str, value: JSONValue) -> dict[str, str]:
    """A value under the column's name, an object of tags as it is, a list of names as `name: yes`."""
    if isinstance(value, dict):
        return {key: _scalar(item, f"{name}.{key}") for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return {_scalar(item, name): "yes" for item in value}
    text = _scalar(value, name)
    return {name: text} if text else {}


def _scalar(value: JSONValue, name: str | None) -> str:
    if isinstance(value, dict | list):
        raise ValueError(f"{name!r} holds a {type(value).__name__}, not one value")
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
