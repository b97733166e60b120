"""Copying each field from candidates that stand in the input instead of writing it freely."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from evolve.core.hashing import JSONValue, normal_text
from evolve.core.messages import Capability
from harnesses.catalog.occasion import (
    Draft,
    Occasion,
    answer_rows,
    ask_role,
    demonstration_path,
    finish,
    pick_balanced,
    prompt_path,
)
from harnesses.proposal import Proposal
from harnesses.shapes import MOST, Example, field_value
from workflows.reading.spans import Candidate, Kind, SpanOptions, find_candidates
from workflows.spec import Node

SHOTS = 4
KINDS: tuple[Kind, ...] = get_args(Kind)
_READINGS: tuple[tuple[Kind, bool], ...] = (*((kind, True) for kind in KINDS), ("date", False))


def propose_spans(occasion: Occasion) -> Proposal | None:
    """`extract` for object answers all of whose values are found among the candidates of some kind."""
    shape = occasion.shape
    if Capability.JSON_SCHEMA not in occasion.capabilities or not shape.is_object or shape.is_call:
        return None
    fields = {field.key: _field_spec(shape.examples, field.key) for field in shape.fields}
    if not fields or not all(fields.values()):
        return None
    demonstrations, prompt = demonstration_path("spans", shape), prompt_path("spans", shape)
    params: dict[str, JSONValue] = {
        "fields": fields,
        "prompt": prompt,
        "demonstrations": demonstrations,
        **ask_role(occasion.parent),
    }
    draft = Draft(
        entry="spans",
        nodes={"answer": Node(operator="extract", params=params)},
        start="answer",
        lever="every field is chosen from the dates, amounts and spans that stand in the input",
        cause="are not what stands in the input",
        files={demonstrations: answer_rows(pick_balanced(occasion, shape.examples, SHOTS)), prompt: b"{input}\n"},
    )
    return finish(occasion, draft)


def _field_spec(examples: Sequence[Example], key: str) -> dict[str, JSONValue]:
    """The spec of the kind whose candidates hold the value in most examples and are fewest; {} when no kind does."""
    present = [example for example in examples if field_value(example.expected, key) is not None]
    if not present:
        return {}
    fitting = [fit for fit in (_fit(present, key, kind, first) for kind, first in _READINGS) if fit is not None]
    if not fitting:
        return {}
    _, spec = min(fitting, key=lambda fit: fit[0])
    return {**spec, "optional": True} if len(present) < len(examples) else spec


def _fit(examples: Sequence[Example], key: str, kind: Kind, day_first: bool) -> tuple[int, dict[str, JSONValue]] | None:
    """How many candidates there are in all, and the spec; None when too few of the values are among them."""
    found = [find_candidates(example.text, kind, SpanOptions(day_first=day_first)) for example in examples]
    pairs = zip(found, examples, strict=True)
    held = sum(_holds(candidates, field_value(example.expected, key)) for candidates, example in pairs)
    if held < MOST * len(examples):
        return None
    spec: dict[str, JSONValue] = {"kind": kind} if day_first else {"kind": kind, "day_first": False}
    return sum(len(candidates) for candidates in found), spec


def _holds(candidates: Sequence[Candidate], value: JSONValue) -> bool:
    if isinstance(value, str):
        return any(isinstance(c.value, str) and normal_text(c.value) == normal_text(value) for c in candidates)
    return not isinstance(value, bool) and any(candidate.value == value for candidate in candidates)
