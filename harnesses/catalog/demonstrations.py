"""Few-shot: the parent's prompt with a handful of balanced, short train examples of the shape before it."""

from __future__ import annotations

from evolve.core.hashing import JSONValue
from evolve.core.messages import Capability
from harnesses.catalog.occasion import (
    Draft,
    Occasion,
    answer_rows,
    demonstration_path,
    finish,
    generate_params,
    pick_balanced,
)
from harnesses.proposal import Proposal
from workflows.spec import Node

SHOTS = 5
FEWEST = 2


def propose_demonstrations(occasion: Occasion) -> Proposal | None:
    """Demonstrations as turns of a chat."""
    return _propose(occasion, "demonstrations", "chat")


def propose_plain_demonstrations(occasion: Occasion) -> Proposal | None:
    """Demonstrations as raw text to continue; needs a model that completes text without a chat template."""
    if Capability.PLAIN not in occasion.capabilities:
        return None
    return _propose(occasion, "plain_demonstrations", "plain")


def _propose(occasion: Occasion, entry: str, style: str) -> Proposal | None:
    shape = occasion.shape
    picked = pick_balanced(occasion, shape.examples, SHOTS)
    if len(picked) < FEWEST:
        return None
    path = demonstration_path(entry, shape)
    params, files = generate_params(occasion)
    changes: dict[str, JSONValue] = {"demonstrations": path, "max_demonstrations": SHOTS, "style": style}
    draft = Draft(
        entry=entry,
        nodes={"answer": Node(operator="generate", params={**params, **changes})},
        start="answer",
        lever=f"{len(picked)} balanced demonstrations of this shape ({style})",
        files={**files, path: answer_rows(picked)},
    )
    return finish(occasion, draft)
