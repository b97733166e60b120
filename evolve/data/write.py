"""Writes rows as JSON lines, whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue


def write_rows(path: Path, rows: Iterable[Mapping[str, JSONValue]]) -> None:
    """One object a line in UTF-8, in place of what stood at `path`.

    UserError when the folder cannot be written; ValueError for NaN.
    """
    write_whole(path, b"".join(_line(row) for row in rows))


def write_whole(path: Path, data: bytes) -> None:
    """The bytes in place of what stood at `path`: a crash leaves the old file or the new one."""
    try:
        handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(draft, path.stat().st_mode & 0o777 if path.exists() else 0o644)
            os.replace(draft, path)
        finally:
            Path(draft).unlink(missing_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot be written: {error.strerror or error}", place=str(path), fix="name a writable place"
        ) from error


def line_bytes(row: Mapping[str, JSONValue]) -> int:
    """How long the row's line is, without its end."""
    return len(_line(row)) - 1


def _line(row: Mapping[str, JSONValue]) -> bytes:
    """Lone surrogates have no UTF-8, so a row that holds one is written with escapes."""
    try:
        return (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n").encode()
    except UnicodeEncodeError:
        return (json.dumps(row, allow_nan=False) + "\n").encode()
