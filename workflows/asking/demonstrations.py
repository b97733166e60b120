"""Demonstrations: rows of a JSONL file in the tree, each an input with the output that was right."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from evolve.core.hashing import canonical_json
from workflows.reading.replies import load_json


class Demonstration(BaseModel):
    """One worked example. `expression` is for `program`, whose answer is a number made by it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = ""
    input: JsonValue
    output: JsonValue = None
    expression: str = ""

    @property
    def answer(self) -> str:
        """The output as a model should write it: text as it is, all else as one line of JSON."""
        return written(self.output)


def read_demonstrations(data: bytes) -> tuple[Demonstration, ...]:
    """The rows of a file in order; blank lines are skipped. Raises ValueError naming the line."""
    rows = []
    for number, line in enumerate(data.decode("utf-8-sig").split("\n"), start=1):
        if line.strip():
            rows.append(_read_row(line, number))
    return tuple(rows)


def dump_demonstrations(rows: tuple[Demonstration, ...]) -> bytes:
    """JSONL that `read_demonstrations` reads back as equal rows."""
    return b"".join(canonical_json(row.model_dump(exclude_defaults=True)) + b"\n" for row in rows)


def written(value: JsonValue) -> str:
    """A value as a prompt shows it."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _read_row(line: str, number: int) -> Demonstration:
    try:
        raw: Any = load_json(line)
        return Demonstration.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"line {number}: {key}: {first['msg']}") from error
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from error
