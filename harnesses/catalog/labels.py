"""Choosing among the labels that train answers use, with their prior calibrated away."""

from __future__ import annotations

from evolve.core.hashing import JSONValue
from evolve.core.messages import Capability
from harnesses.catalog.occasion import (
    Draft,
    Occasion,
    answer_rows,
    ask_role,
    demonstration_path,
    finish,
    label_field,
    pick_balanced,
    prompt_path,
)
from harnesses.proposal import Proposal
from workflows.spec import Node

MOST_LABELS = 40
SHOTS = 6


def propose_labels(occasion: Occasion) -> Proposal | None:
    """`choose` over the labels of the only field of an object; needs log probabilities of labels."""
    shape, field = occasion.shape, label_field(occasion.shape)
    if Capability.LABELS not in occasion.capabilities or field is None or not field.key:
        return None
    if len(field.values) > MOST_LABELS:
        return None
    demonstrations, prompt = demonstration_path("labels", shape), prompt_path("labels", shape)
    labels: list[JSONValue] = sorted(str(value) for value in field.values)
    picked = pick_balanced(occasion, shape.examples, SHOTS)
    node = Node(
        operator="choose",
        params={
            "labels": labels,
            "prompt": prompt,
            "demonstrations": demonstrations,
            "output_key": field.key,
            "calibrate": True,
            **ask_role(occasion.parent),
        },
    )
    draft = Draft(
        entry="labels",
        nodes={"answer": node},
        start="answer",
        lever=f"the most probable of {len(labels)} labels, calibrated, instead of free text",
        cause="name the wrong label or none",
        files={demonstrations: answer_rows(picked), prompt: b"{input}\n"},
    )
    return finish(occasion, draft)
