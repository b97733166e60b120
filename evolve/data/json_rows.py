"""Rows of JSON: one object a line, or one list of objects."""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Iterator
from pathlib import Path

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from evolve.data.rows import BadRow, Row, RowsRead


def read_json_lines(path: Path, max_line_bytes: int) -> RowsRead:
    """One object a line. A byte-order mark and CRLF are accepted."""
    read = RowsRead()
    last = 0
    blanks: list[int] = []
    for line, raw, whole in _lines(path, max_line_bytes):
        if line == 1 and raw.startswith(codecs.BOM_UTF8):
            raw = raw.removeprefix(codecs.BOM_UTF8)
            read.notes.append("line 1: a byte-order mark was left out")
        if not raw.strip():
            blanks.append(line)
            continue
        last = line
        if not whole:
            read.bad.append(BadRow(line, f"longer than {max_line_bytes:,} bytes (max_line_bytes)"))
            continue
        try:
            read.rows.append(Row(line, _json_object(raw.decode("utf-8"))))
        except (ValueError, RecursionError) as error:
            cut = not raw.endswith(b"\n") and isinstance(error, json.JSONDecodeError)
            read.bad.append(BadRow(line, ("the last line is cut off: " if cut else "") + _json_reason(error)))
    return read.settle_blanks(blanks, last)


def _lines(path: Path, max_line_bytes: int) -> Iterator[tuple[int, bytes, bool]]:
    """(number, bytes, whole): ends at \\n only, so U+2028 inside a text is text; never holds more than the limit."""
    with path.open("rb") as file:
        number = 0
        while raw := file.readline(max_line_bytes + 2):
            number += 1
            whole = len(raw.rstrip(b"\r\n")) <= max_line_bytes
            tail = raw
            while not tail.endswith(b"\n") and (tail := file.readline(1 << 20)):
                whole = whole and not tail.strip(b"\r\n")
            yield number, raw, whole


def _json_object(text: str) -> dict[str, JSONValue]:
    value = _decoder().decode(text)
    if not isinstance(value, dict):
        raise ValueError(f"a {type(value).__name__}, not an object with named fields")
    return value


def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_no_constant, parse_float=_finite)


def _unique_keys(pairs: list[tuple[str, JSONValue]]) -> dict[str, JSONValue]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(n for n in names if names.count(n) > 1)!r} appears twice")
    return found


def _no_constant(name: str) -> JSONValue:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"{digits} is too large for a number")
    return number


def _json_reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start + 1} of the line"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def read_json_list(path: Path, max_line_bytes: int) -> RowsRead:
    """A list of objects, read one by one so that each keeps its line number."""
    read = RowsRead()
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"not UTF-8 at byte {error.start + 1}", place=str(path), fix="save it as UTF-8") from error
    at = _skip_space(text, 0)
    if text[at : at + 1] != "[":
        raise UserError("not a list of objects", place=str(path), fix="one object a line needs the suffix .jsonl")
    at = _skip_space(text, at + 1)
    line, counted = 1, 0
    while text[at : at + 1] != "]":
        line, counted = line + text.count("\n", counted, at), at
        try:
            value, end = _decoder().raw_decode(text, at)
            after = _skip_space(text, end)
            if text[after : after + 1] not in (",", "]"):
                raise ValueError("no comma or ] after this item: the list is cut off or broken here")
        except (ValueError, RecursionError) as error:
            raise UserError(_json_reason(error), place=f"{path}:{line}", fix="correct the list here") from error
        _add_item(read, Row(line, value), end - at, max_line_bytes)
        at = after if text[after] == "]" else _skip_space(text, after + 1)
    return read


def _add_item(read: RowsRead, row: Row, size: int, max_line_bytes: int) -> None:
    if not isinstance(row.values, dict):
        read.bad.append(BadRow(row.line, f"a {type(row.values).__name__}, not an object with named fields"))
    elif size > max_line_bytes:
        read.bad.append(BadRow(row.line, f"longer than {max_line_bytes:,} characters (max_line_bytes)"))
    else:
        read.rows.append(row)


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at
