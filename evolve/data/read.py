"""Reads a file of rows by its suffix: JSONL, a JSON list, CSV, TSV or Parquet."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from pathlib import Path

from evolve.core.errors import UserError
from evolve.data.json_rows import read_json_lines, read_json_list
from evolve.data.parquet_rows import read_parquet
from evolve.data.rows import RowsRead
from evolve.data.table_rows import read_csv, read_tsv

READERS: Mapping[str, Callable[[Path, int], RowsRead]] = {
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".json": read_json_list,
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".parquet": read_parquet,
}


def read_rows(path: Path, max_line_bytes: int, suffix: str | None = None) -> RowsRead:
    """Reads the whole file by its suffix, or as if it had `suffix`.

    UserError when it is absent, unreadable or of an unknown kind.
    """
    reader = READERS.get(suffix or path.suffix.lower())
    if reader is None:
        known = ", ".join(READERS)
        raise UserError(f"unknown kind of file {path.suffix!r}", place=str(path), fix=f"one of {known}")
    try:
        with path.open("rb") as file:
            _refuse_utf16(path, file.read(2))
        return reader(path, max_line_bytes)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot read the cases: {reason}", place=str(path), fix="name a readable file") from error


def _refuse_utf16(path: Path, head: bytes) -> None:
    if head in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise UserError("the file is UTF-16", place=f"{path}:1", fix="save it as UTF-8")
