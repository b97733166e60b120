"""`extract`: named fields out of a text, each chosen among the spans that are really there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from evolve.core.cases import input_text
from evolve.core.errors import HarnessFault
from evolve.core.hashing import JSONValue, canonical_json
from evolve.core.messages import Capability
from workflows.asking.calls import Calls
from workflows.asking.demonstrations import Demonstration, written
from workflows.asking.prompts import compose_prompt
from workflows.kit import View
from workflows.operators.contract import Operator, Produced
from workflows.params import AskParams
from workflows.reading.replies import read_object
from workflows.reading.spans import Candidate, Kind, SpanOptions, find_candidates

Found = Mapping[str, tuple[Candidate, ...]]


class FieldSpec(BaseModel):
    """What kind of span a field is. With `optional` the model may answer null although candidates are there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind
    day_first: bool = True
    decimal: Literal["auto", ".", ","] = "auto"
    optional: bool = False

    @property
    def options(self) -> SpanOptions:
        """How spans are read."""
        return SpanOptions(day_first=self.day_first, decimal=self.decimal)


class ExtractParams(AskParams):
    """`fields` is name → {kind, day_first, decimal, optional}. The reply is one JSON object with every field."""

    fields: Annotated[dict[str, FieldSpec], Field(min_length=1, max_length=12)]
    max_tokens: Annotated[int, Field(ge=1, le=2_048)] = 200

    def needs(self) -> frozenset[Capability]:
        """JSON schemas."""
        return super().needs() | {Capability.JSON_SCHEMA}

    def wrong_with(self, row: Demonstration) -> str:
        """Its output must be an object."""
        return "" if isinstance(row.output, dict) else "the output of an extraction is an object"


class Extract(Operator[ExtractParams]):
    """A field without candidate is null; one with a single candidate is that; the rest is one constrained call.

    The model points at the text as written, also in demonstrations; the output holds the normal form: ISO dates,
    amounts as numbers.
    """

    name = "extract"
    params = ExtractParams

    async def run(self, params: ExtractParams, view: View, calls: Calls) -> Produced:
        """{field: value or null}, in the order of `fields`."""
        found = _find_all(params, input_text(view.input))
        choices = {name: _choices(params.fields[name], found[name]) for name in params.fields}
        if all(len(options) == 1 for options in choices.values()):
            said: Mapping[str, JSONValue] = {name: options[0] for name, options in choices.items()}
        else:
            said = await _ask(params, view, calls, choices)
        return Produced({name: _normal_form(found[name], said[name]) for name in params.fields})


def _find_all(params: ExtractParams, text: str) -> Found:
    return {name: find_candidates(text, spec.kind, spec.options) for name, spec in params.fields.items()}


def _choices(spec: FieldSpec, candidates: tuple[Candidate, ...]) -> list[str | None]:
    as_written: list[str | None] = [candidate.text for candidate in candidates]
    return [*as_written, None] if spec.optional or not as_written else as_written


async def _ask(
    params: ExtractParams, view: View, calls: Calls, choices: Mapping[str, list[str | None]]
) -> Mapping[str, JSONValue]:
    prompt = compose_prompt(params, view, calls, lambda row: _pointed(params, row))
    request = replace(
        prompt.request(params.style, free_text=False), max_tokens=params.max_tokens, json_schema=_schema(choices)
    )
    reply = await calls.ask(params.role, request)
    return read_object(reply.text, lambda value: _complain(value, choices))


def _schema(choices: Mapping[str, list[str | None]]) -> dict[str, JSONValue]:
    return {
        "type": "object",
        "properties": {name: {"enum": options} for name, options in choices.items()},
        "required": list(choices),
        "additionalProperties": False,
    }


def _complain(value: JSONValue, choices: Mapping[str, list[str | None]]) -> str:
    for name, options in choices.items():
        if name not in value:
            return f"{name} is missing"
        if value[name] not in options:
            return f"{name} is {value[name]!r}, which is not a candidate in the text"
    return ""


def _pointed(params: ExtractParams, row: Demonstration) -> str:
    """The answer of a demonstration with each value as it is written in the demonstration's input."""
    wrong = params.wrong_with(row)
    if wrong:
        raise HarnessFault(f"demonstration {row.id!r}: {wrong}")
    found, output = _find_all(params, input_text(row.input)), row.output if isinstance(row.output, dict) else {}
    return written({name: _as_written(found[name], output.get(name)) for name in params.fields})


def _as_written(candidates: tuple[Candidate, ...], value: JSONValue) -> JSONValue:
    for candidate in candidates:
        if canonical_json(candidate.value) == canonical_json(value) or candidate.value == value:
            return candidate.text
    return value


def _normal_form(candidates: tuple[Candidate, ...], said: JSONValue) -> JSONValue:
    return next((candidate.value for candidate in candidates if candidate.text == said), None)
