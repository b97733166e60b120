"""JSON fields: the output is an object whose fields are those of the expected object."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from evolve.core.hashing import JSONValue, normal_text
from evolve.core.scores import Asked, Score
from evolve.evaluate.scorers.base import Options, same_json, scorer_identity, shown, text_of
from evolve.evaluate.scorers.numeric import near, read_number

Comparison = Literal["exact", "text", "number", "ignore"]
ABSENT = object()


class JsonFieldsOptions(Options):
    """Every expected field must be right, or, with `partial`, the score is the share of right fields.

    Texts compare without regard to case, width and white space, numbers within `tolerance` or `relative`, the rest as
    JSON. `fields` sets the comparison of a field by its dotted path (`address.city`). `extra: wrong` counts each field
    that was not expected as a wrong one.
    """

    kind: Literal["json_fields"] = "json_fields"
    partial: bool = False
    extra: Literal["ignore", "wrong"] = "ignore"
    fields: dict[str, Comparison] = Field(default_factory=dict)
    tolerance: float = Field(default=0.0, ge=0.0, allow_inf_nan=False)
    relative: float = Field(default=1e-9, ge=0.0, lt=1.0)


class JsonFieldsScorer:
    """Nested objects are compared field by field; a list is one field, equal item by item."""

    def __init__(self, options: JsonFieldsOptions) -> None:
        self._options = options
        self.identity = scorer_identity(options, sys.modules[__name__])

    async def score(self, output: JSONValue, expected: JSONValue, asked: Asked | None = None) -> Score:
        """Ungraded when the expected value is no object; a text output is read as JSON."""
        if not isinstance(expected, dict):
            return Score.ungraded(f"expected {shown(expected)} is not an object")
        found = _as_object(output)
        if found is None:
            return Score.graded(0.0, f"{shown(output)} is not an object")
        outcomes = [o for o in self._outcomes("", found, expected) if self._options.fields.get(o[0]) != "ignore"]
        wrong = [path for path, right in outcomes if not right]
        if not wrong:
            return Score.graded(1.0, "every field is right")
        value = 1.0 - len(wrong) / len(outcomes) if self._options.partial else 0.0
        return Score.graded(value, f"{len(wrong)} of {len(outcomes)} fields wrong: {shown(', '.join(wrong), 200)}")

    def _outcomes(self, prefix: str, found: JSONValue, expected: dict[str, JSONValue]) -> Iterator[tuple[str, bool]]:
        """(dotted path, right) for each expected leaf, and for each extra one when extras are wrong."""
        fields = found if isinstance(found, dict) else {}
        for name, wanted in expected.items():
            path = prefix + name
            if isinstance(wanted, dict) and wanted and path not in self._options.fields:
                yield from self._outcomes(f"{path}.", fields.get(name), wanted)
            else:
                yield path, self._equal(fields.get(name, ABSENT), wanted, self._options.fields.get(path))
        if self._options.extra == "wrong":
            yield from ((prefix + name, False) for name in fields if name not in expected)

    def _equal(self, found: object, wanted: JSONValue, how: Comparison | None) -> bool:
        if found is ABSENT or how == "ignore":
            return how == "ignore"
        if how is None:
            how = _natural(wanted)
        if how == "text":
            ours, theirs = text_of(found), text_of(wanted)
            return ours is not None and theirs is not None and normal_text(ours) == normal_text(theirs)
        if how == "number":
            number, target = read_number(found), read_number(wanted)
            near_by = self._options.tolerance, self._options.relative
            return number is not None and target is not None and near(number, target, *near_by)
        if isinstance(wanted, list) and isinstance(found, list):
            return len(found) == len(wanted) and all(map(self._equal_item, found, wanted))
        if wanted == {} and self._options.extra == "ignore":
            return isinstance(found, dict)
        return same_json(found, wanted)

    def _equal_item(self, found: JSONValue, wanted: JSONValue) -> bool:
        """Items of lists are compared as their own type asks; objects within lists field by field."""
        if isinstance(wanted, dict) and wanted:
            return isinstance(found, dict) and all(right for _, right in self._outcomes("[].", found, wanted))
        return self._equal(found, wanted, None)

    async def close(self) -> None:
        """Nothing is held."""


def _natural(wanted: JSONValue) -> Comparison:
    if isinstance(wanted, str):
        return "text"
    return "number" if isinstance(wanted, int | float) and not isinstance(wanted, bool) else "exact"


def _as_object(output: JSONValue) -> dict[str, JSONValue] | None:
    if isinstance(output, str):
        try:
            output = json.loads(output)
        except (ValueError, RecursionError):
            return None
    return output if isinstance(output, dict) else None
