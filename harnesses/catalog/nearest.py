"""Copying the answer of the most similar labelled train example; no language model is asked."""

from __future__ import annotations

from harnesses.catalog.occasion import Draft, Occasion, answer_rows, demonstration_path, finish
from harnesses.proposal import Proposal
from harnesses.shapes import Kind
from workflows.spec import Node

FEWEST = 4


def propose_nearest(occasion: Occasion) -> Proposal | None:
    """`nearest` over every given example of the shape; fits answers that are labels in every field.

    The tree can then be scored only on cases that were not given here.
    """
    shape = occasion.shape
    if not all(Kind.LABEL in field.kinds for field in shape.fields):
        return None
    if len(shape.examples) < FEWEST:
        return None
    path = demonstration_path("nearest", shape)
    draft = Draft(
        entry="nearest",
        nodes={"answer": Node(operator="nearest", params={"demonstrations": path, "k": 1})},
        start="answer",
        lever=f"the answer of the nearest of {len(shape.examples)} labelled examples",
        cause="name the wrong label or none",
        files={path: answer_rows(shape.examples)},
    )
    return finish(occasion, draft)
