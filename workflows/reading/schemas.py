"""JSON schemas that come from a tree: read, limited to what always ends, and applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from referencing import Registry
from referencing.exceptions import Unresolvable

from evolve.core.hashing import JSONValue
from workflows.reading.replies import load_json

UNSAFE = ("pattern", "patternProperties", "$dynamicRef", "$recursiveRef")
"""Keywords that a proposed schema could hang a run with: a regular expression may take for ever."""


class Schema:
    """A checked schema. `raw` is what a constrained request carries."""

    def __init__(self, raw: Mapping[str, JSONValue]) -> None:
        self.raw = dict(raw)
        refuse_unsafe(self.raw)
        try:
            Draft202012Validator.check_schema(self.raw)
        except SchemaError as error:
            raise ValueError(f"not a JSON schema: {error.message}") from error

    @classmethod
    def parse(cls, data: bytes) -> Schema:
        """Reads a schema file. Raises ValueError that says what is wrong."""
        raw = load_json(data.decode("utf-8-sig"))
        if not isinstance(raw, dict):
            raise ValueError("a schema is a JSON object")
        return cls(raw)

    def complain(self, value: JSONValue) -> str:
        """What is wrong with `value`, at which key; empty when it fits."""
        try:
            error = next(iter(self._validator.iter_errors(value)), None)
        except Unresolvable as missing:
            return f"the schema refers to {missing.ref!r}, which it does not hold"
        except RecursionError:
            return "the schema refers to itself without end"
        if error is None:
            return ""
        return f"{error.json_path}: {error.message}"[:300]

    @cached_property
    def _validator(self) -> Draft202012Validator:
        # An empty registry: the library would otherwise fetch remote references over the network.
        return Draft202012Validator(self.raw, registry=Registry())


def refuse_unsafe(raw: Mapping[str, JSONValue]) -> None:
    """Raises ValueError for keywords that could make a check run for ever or reach outside the schema."""
    for key, value in _keywords(raw):
        if key in UNSAFE:
            raise ValueError(f"the keyword {key!r} is not supported: it can make a check run for ever")
        if key == "$ref" and isinstance(value, str) and not value.startswith("#"):
            raise ValueError(f"$ref {value!r} leaves the file")


def _keywords(schema: JSONValue) -> Iterator[tuple[str, JSONValue]]:
    waiting = [schema]
    while waiting:
        here = waiting.pop()
        if isinstance(here, list):
            waiting.extend(here)
        elif isinstance(here, dict):
            for key, value in here.items():
                if key in ("properties", "$defs", "definitions") and isinstance(value, dict):
                    waiting.extend(value.values())  # its keys are names of the user's, not keywords
                elif key not in ("enum", "const", "default", "examples"):
                    yield key, value
                    waiting.append(value)
