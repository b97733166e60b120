"""Copying the answer of the most similar labelled train example; no language model is asked."""

from __future__ import annotations

from harnesses.catalog.occasion import Draft, Occasion, answer_rows, demonstration_path, finish
from harnesses.proposal import Proposal
from harnesses.shapes import Kind
from workflows.spec import Node

HELD_BACK = 0.2
"""The share of examples that stays out, so that the tree keeps some train cases to be scored on."""
FEWEST = 4


def propose_nearest(occasion: Occasion) -> Proposal | None:
    """`nearest` over most examples of the shape; fits answers that are labels in every field."""
    shape = occasion.shape
    if not all(Kind.LABEL in field.kinds for field in shape.fields):
        return None
    examples = sorted(shape.examples, key=lambda example: example.id)
    kept = occasion.rng.sample(examples, round(len(examples) * (1 - HELD_BACK)))
    if len(kept) < FEWEST:
        return None
    path = demonstration_path("nearest", shape)
    draft = Draft(
        entry="nearest",
        nodes={"answer": Node(operator="nearest", params={"demonstrations": path, "k": 1})},
        start="answer",
        lever=f"the answer of the nearest of {len(kept)} labelled examples",
        cause="name the wrong label or none",
        files={path: answer_rows(sorted(kept, key=lambda example: example.id))},
    )
    return finish(occasion, draft)
