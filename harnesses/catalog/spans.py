"""Copying each field from candidates that stand in the input instead of writing it freely."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from evolve.core.hashing import JSONValue, normal_text
from harnesses.catalog.occasion import (
    Draft,
    Occasion,
    answer_rows,
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


def propose_spans(occasion: Occasion) -> Proposal | None:
    """`extract` for object answers all of whose values are found among the candidates of some kind."""
    shape = occasion.shape
    if not shape.is_object or shape.is_call or not shape.fields:
        return None
    fields: dict[str, JSONValue] = {}
    for field in shape.fields:
        kind = candidate_kind(shape.examples, field.key)
        if kind is None:
            return None
        fields[field.key] = {"kind": kind}
    demonstrations, prompt = demonstration_path("spans", shape), prompt_path("spans", shape)
    params: dict[str, JSONValue] = {"fields": fields, "prompt": prompt, "demonstrations": demonstrations}
    draft = Draft(
        entry="spans",
        nodes={"answer": Node(operator="extract", params=params)},
        start="answer",
        lever="every field is chosen from the dates, amounts and spans that stand in the input",
        cause="are not what stands in the input",
        files={demonstrations: answer_rows(pick_balanced(occasion, shape.examples, SHOTS)), prompt: b"{input}\n"},
    )
    return finish(occasion, draft)


def candidate_kind(examples: Sequence[Example], key: str) -> Kind | None:
    """The kind whose candidates hold the value in most examples and are fewest, None when no kind does."""
    best: tuple[int, int, Kind] | None = None
    for order, kind in enumerate(KINDS):
        found = [find_candidates(example.text, kind, SpanOptions()) for example in examples]
        pairs = zip(found, examples, strict=True)
        held = sum(_holds(candidates, field_value(example.expected, key)) for candidates, example in pairs)
        if held >= MOST * len(examples):
            size = sum(len(candidates) for candidates in found)
            best = min(best or (size, order, kind), (size, order, kind))
    return best[2] if best else None


def _holds(candidates: Sequence[Candidate], value: JSONValue) -> bool:
    if isinstance(value, str):
        return any(isinstance(c.value, str) and normal_text(c.value) == normal_text(value) for c in candidates)
    return not isinstance(value, bool) and any(candidate.value == value for candidate in candidates)
