"""Rows of a table with a header line: every value is text."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Protocol

from evolve.core.errors import UserError
from evolve.data.rows import BadRow, Row, RowsRead


class _Table(Protocol):
    @property
    def line_num(self) -> int: ...

    def __next__(self) -> list[str]: ...


def read_csv(path: Path, max_line_bytes: int) -> RowsRead:
    """Cells between commas."""
    return _read_table(path, max_line_bytes, ",")


def read_tsv(path: Path, max_line_bytes: int) -> RowsRead:
    """Cells between tabs."""
    return _read_table(path, max_line_bytes, "\t")


def _read_table(path: Path, max_line_bytes: int, delimiter: str) -> RowsRead:
    """Rows under one header line; every value is text. The csv module's cell limit is the line limit meanwhile."""
    limit = csv.field_size_limit(max_line_bytes)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _table_rows(path, csv.reader(file, delimiter=delimiter, strict=True))
    except UnicodeDecodeError as error:
        raise UserError(f"not UTF-8: {error.reason}", place=str(path), fix="save it as UTF-8") from error
    finally:
        csv.field_size_limit(limit)


def _table_rows(path: Path, table: _Table) -> RowsRead:
    read = RowsRead()
    try:
        header = next(table, [])
    except csv.Error as error:
        raise UserError(f"the header is not CSV: {error}", place=f"{path}:1", fix="correct the first line") from error
    if not header or len(set(header)) < len(header) or not all(name.strip() for name in header):
        raise UserError("the header needs one different name a column", place=f"{path}:1", fix=f"found {header}")
    blanks: list[int] = []
    line = last = 1
    while True:
        line, cells = table.line_num + 1, None
        try:
            cells = next(table)
        except StopIteration:
            return read.settle_blanks(blanks, last)
        except csv.Error as error:
            read.bad.append(BadRow(line, f"not CSV: {error}"))
            last = line
        if cells == []:
            blanks.append(line)
        elif cells is not None:
            last = line
            _add_cells(read, line, header, cells)


def _add_cells(read: RowsRead, line: int, header: list[str], cells: list[str]) -> None:
    if len(cells) == len(header):
        read.rows.append(Row(line, dict(zip(header, cells, strict=True))))
    else:
        read.bad.append(BadRow(line, f"{len(cells)} cells under a header of {len(header)}"))
