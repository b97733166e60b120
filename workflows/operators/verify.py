"""`verify`: checks another node's output by a schema and by simple rules; the outcome steers what comes next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field, model_validator

from evolve.core.cases import input_text
from evolve.core.hashing import JSONValue, normal_text
from workflows.asking.calls import Calls
from workflows.kit import View
from workflows.operators.contract import Operator, Produced
from workflows.params import FileUse, OperatorParams
from workflows.reading.dates import find_dates
from workflows.reading.numbers import find_numbers
from workflows.reading.schemas import Schema

PASSED, FAILED = "passed", "failed"

_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MESSAGE_LIMIT = 600


class VerifyParams(OperatorParams):
    """`node` is the node to check. Rules name keys of its output; `one_of` and `between` give the allowed values.

    `values_in_text`: the value stands in the input (numbers and dates in any written form); null is not looked for.
    """

    node_params: ClassVar[tuple[str, ...]] = ("node",)

    node: str
    schema_path: str | None = Field(default=None, alias="schema")
    not_null: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    values_in_text: tuple[str, ...] = ()
    one_of: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    between: dict[str, tuple[float, float]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_rules(self) -> VerifyParams:
        rules = (self.schema_path, self.not_null, self.numeric, self.values_in_text, self.one_of, self.between)
        if not any(rules):
            raise ValueError("give a schema or at least one rule: there is nothing to verify")
        return self

    def files(self) -> tuple[FileUse, ...]:
        """The schema."""
        return (FileUse("schema", self.schema_path, "schema"),) if self.schema_path is not None else ()


class Verify(Operator[VerifyParams]):
    """No model: it cannot be talked into passing. A retry prompt can show its message as `{NODE.message}`."""

    name = "verify"
    params = VerifyParams
    outcomes = (PASSED, FAILED)
    answers = False

    async def run(self, params: VerifyParams, view: View, calls: Calls) -> Produced:
        """{"ok": bool, "message": every complaint, empty when it passed}."""
        complaints = list(_complaints(params, view, calls))
        message = "; ".join(complaints)[:_MESSAGE_LIMIT]
        return Produced({"ok": not complaints, "message": message}, FAILED if complaints else PASSED)


def _complaints(params: VerifyParams, view: View, calls: Calls) -> Iterator[str]:
    if params.node not in view.outputs:
        yield f"{params.node} has not run"
        return
    output = view.outputs[params.node]
    if params.schema_path is not None:
        wrong = calls.derive(params.schema_path, Schema.parse).complain(output)
        if wrong:
            yield wrong
    yield from _broken_rules(params, output, input_text(view.input))


def _broken_rules(params: VerifyParams, output: JSONValue, text: str) -> Iterator[str]:
    values = output if isinstance(output, dict) else {}
    yield from (f"{key} is missing" for key in params.not_null if values.get(key) in (None, ""))
    yield from (f"{key} is not a number" for key in params.numeric if not _is_number(values.get(key)))
    for key, allowed in params.one_of.items():
        if values.get(key) not in allowed:
            yield f"{key} is {values.get(key)!r}, not one of {', '.join(allowed)}"
    for key, (low, high) in params.between.items():
        if not _is_between(values.get(key), low, high):
            yield f"{key} is {values.get(key)!r}, not a number from {low:g} to {high:g}"
    for key in params.values_in_text:
        if values.get(key) is not None and not stands_in_text(values[key], text):
            yield f"{key} is {values[key]!r}, which does not stand in the input"


def stands_in_text(value: JSONValue, text: str) -> bool:
    """Whether a text has the value in it: numbers and ISO dates in any form, text up to case and spacing."""
    if _is_number(value):
        return any(abs(found.value - value) < 1e-9 for found in find_numbers(text))
    if isinstance(value, list):
        return all(stands_in_text(part, text) for part in value)
    said = str(value)
    if _ISO_DATE.fullmatch(said) and any(
        found.value == said for day_first in (True, False) for found in find_dates(text, day_first=day_first)
    ):
        return True
    return normal_text(said) in normal_text(text)


def _is_number(value: JSONValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_between(value: JSONValue, low: float, high: float) -> bool:
    return _is_number(value) and low <= value <= high
