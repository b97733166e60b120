"""Inspect samples as rows: input, target, choices, id and metadata, in JSON, JSONL or CSV."""

from __future__ import annotations

import json
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evolve.core.hashing import JSONValue
from evolve.data.read import read_rows
from evolve.data.rows import BadRow, Row, RowsRead


def read_inspect(path: Path, max_line_bytes: int) -> tuple[RowsRead, str]:
    """(rows with id, input, expected, tags; the scorer to use). Choices go into the input, lettered from A."""
    source = read_rows(path, max_line_bytes)
    read = RowsRead(bad=list(source.bad), notes=list(source.notes))
    several, chosen = False, False
    for row in source.rows:
        try:
            found = _row(row.values)
        except ValueError as error:
            read.bad.append(BadRow(row.line, str(error)))
            continue
        several = several or isinstance(found["expected"], list)
        chosen = chosen or bool(row.values.get("choices"))
        read.rows.append(Row(row.line, found))
    if several:
        rows = [{**row.values, "expected": _as_list(row.values["expected"])} for row in read.rows]
        read.rows = [Row(row.line, values) for row, values in zip(read.rows, rows, strict=True)]
        return read, "{kind: exact, any_of: true}"
    return read, "{kind: choice}" if chosen else "{kind: exact}"


def _row(values: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    if "input" not in values or "target" not in values:
        raise ValueError("a sample has `input` and `target`")
    choices, target = _parsed(values.get("choices")), _parsed(values["target"])
    row: dict[str, JSONValue] = {"input": _parsed(values["input"]), "expected": target}
    if choices:
        row["input"] = _with_choices(row["input"], choices)
    if values.get("id") not in (None, ""):
        row["id"] = values["id"]
    metadata = _parsed(values.get("metadata"))
    if isinstance(metadata, dict):
        tags = {key: str(value) for key, value in metadata.items() if isinstance(value, str | int | float | bool)}
        row |= {"tags": tags} if tags else {}
    return row


def _with_choices(question: JSONValue, choices: Any) -> JSONValue:
    """The question with its choices as lines `A) …`; in a conversation they end its last user turn."""
    lines = [f"{letter}) {choice}" for letter, choice in zip(string.ascii_uppercase, choices, strict=False)]
    if isinstance(question, str):
        return "\n".join([question, *lines])
    turns = [dict(turn) for turn in question]
    last = next(turn for turn in reversed(turns) if turn.get("role") == "user")
    last["content"] = "\n".join([str(last.get("content", "")), *lines])
    return turns


def _parsed(value: JSONValue) -> JSONValue:
    """Lists and objects stand in CSV cells as JSON text."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _as_list(value: JSONValue) -> JSONValue:
    return value if isinstance(value, list) else [value]
