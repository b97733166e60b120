"""Inspect samples as rows: input, target, choices, id and metadata, in JSON, JSONL or CSV."""

from __future__ import annotations

import json
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from evolve.data.read import read_rows
from evolve.data.rows import BadRow, Row, RowsRead

NEEDS = ("files", "setup", "sandbox")
"""Fields that put things around a sample which a case here cannot carry."""


def read_inspect(path: Path, max_line_bytes: int) -> tuple[RowsRead, str]:
    """(rows with id, input, expected, tags; the scorer to use). Choices go into the input, lettered from A.

    A sample that a case cannot hold is a bad row. UserError when some samples have choices and others none.
    """
    source = read_rows(path, max_line_bytes)
    read = RowsRead(bad=list(source.bad), notes=list(source.notes))
    lettered = Counter[bool]()
    for row in source.rows:
        try:
            read.rows.append(Row(row.line, _row(row.values)))
        except ValueError as error:
            read.bad.append(BadRow(row.line, str(error)))
            continue
        lettered[_given(row.values.get("choices"))] += 1
    if len(lettered) > 1:
        message = f"{lettered[True]} samples have choices and {lettered[False]} have none"
        raise UserError(message, place=str(path), fix="import them apart: they are graded in two ways")
    read.notes += _left_notes(source.rows)
    if any(isinstance(row.values["expected"], list) for row in read.rows):
        read.rows = [Row(row.line, {**row.values, "expected": _as_list(row.values["expected"])}) for row in read.rows]
        return read, "{kind: exact, any_of: true}"
    return read, "{kind: choice}" if lettered[True] else "{kind: exact}"


def _row(values: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    if not _given(values.get("input")) or not _given(values.get("target")):
        raise ValueError("a sample has `input` and `target`")
    needed = [name for name in NEEDS if _given(values.get(name))]
    if needed:
        raise ValueError(f"the sample needs {needed[0]!r}, which a case cannot carry")
    target = values["target"]
    expected: JSONValue = [str(item) for item in target] if isinstance(target, list) else str(target)
    row: dict[str, JSONValue] = {"input": _conversation(values["input"]), "expected": expected}
    if _given(values.get("choices")):
        choices = _choices(values["choices"])
        row |= {"input": _with_choices(row["input"], choices), "expected": _letter(expected, len(choices))}
    if _given(values.get("id")):
        row["id"] = values["id"]
    tags = {key: str(item) for key, item in _metadata(values).items() if isinstance(item, str | int | float)}
    return row | ({"tags": tags} if tags else {})


def _given(value: JSONValue) -> bool:
    """An empty CSV cell and an absent field are one."""
    return value not in (None, "", [], {})


def _conversation(value: JSONValue) -> JSONValue:
    """A text as it is, or messages whose contents are texts."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not all(isinstance(turn, dict) and turn.get("role") for turn in value):
        raise ValueError("`input` is neither a text nor a list of messages with roles")
    return [{**turn, "content": _content(turn.get("content"))} for turn in value]


def _content(value: JSONValue) -> str:
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else [value]
    if not all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in parts):
        raise ValueError("a message holds something else than text")
    return "\n".join(part["text"] for part in parts)


def _choices(value: JSONValue) -> list[str]:
    """A list, or a text with commas (else white space) between the choices, as in CSV."""
    if isinstance(value, str):
        value = value.split(",") if "," in value else value.split()
    found = [str(choice).strip() for choice in value] if isinstance(value, list) else [str(value)]
    if len(found) > len(string.ascii_uppercase):
        raise ValueError(f"{len(found)} choices are more than there are letters")
    return found


def _letter(target: JSONValue, count: int) -> str:
    """The one right letter; several right choices have no scorer here."""
    letters = target if isinstance(target, list) else [target]
    if len(letters) != 1 or len(str(letters[0]).strip()) != 1:
        raise ValueError(f"the target {target!r} is not one letter: several right choices have no scorer here")
    letter = str(letters[0]).strip().upper()
    if letter not in string.ascii_uppercase[:count]:
        raise ValueError(f"the target {letter!r} is none of the {count} choices, lettered from A")
    return letter


def _with_choices(question: JSONValue, choices: Sequence[str]) -> JSONValue:
    """The question with its choices as lines `A) …`; in a conversation they end its last user turn."""
    lines = [f"{letter}) {choice}" for letter, choice in zip(string.ascii_uppercase, choices, strict=False)]
    if isinstance(question, str):
        return "\n".join([question, *lines])
    turns = [dict(turn) for turn in question]
    last = next((turn for turn in reversed(turns) if turn["role"] == "user"), None)
    if last is None:
        raise ValueError("choices need a user turn to stand in")
    last["content"] = "\n".join([last["content"], *lines])
    return turns


def _metadata(values: Mapping[str, JSONValue]) -> dict[str, Any]:
    """An object, or its JSON in a cell."""
    value = values.get("metadata")
    if not _given(value):
        return {}
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ValueError("`metadata` is not an object")
    return found


def _left_notes(rows: Sequence[Row]) -> list[str]:
    """Which fields are not carried over; nested metadata is no tag."""
    known = {"input", "target", "choices", "id", "metadata", *NEEDS}
    others = sorted({name for row in rows for name in row.values if name not in known})
    nested = sorted(
        {
            key
            for row in rows
            if isinstance(row.values.get("metadata"), dict)
            for key, item in row.values["metadata"].items()
            if isinstance(item, dict | list)
        }
    )
    notes = [f"fields that are not carried over: {', '.join(others)}"] if others else []
    return notes + ([f"metadata that is no tag, because it is nested: {', '.join(nested)}"] if nested else [])


def _as_list(value: JSONValue) -> JSONValue:
    return value if isinstance(value, list) else [value]
