"""Asking several times at a higher temperature and taking the most frequent answer."""

from __future__ import annotations

from harnesses.catalog.occasion import Draft, Occasion, finish, generate_params
from harnesses.manifest import read_manifest
from harnesses.proposal import Proposal
from workflows.spec import Node

SAMPLES = 5
TEMPERATURE = 0.7


def propose_self_consistency(occasion: Occasion) -> Proposal | None:
    """`vote` over the parent's prompt; needs room for the calls under the manifest's limit."""
    if read_manifest(occasion.parent).limits.max_calls < SAMPLES:
        return None
    params, files = generate_params(occasion)
    node = Node(operator="vote", params={"n": SAMPLES, "sample": {**params, "temperature": TEMPERATURE}})
    draft = Draft(
        entry="self_consistency",
        nodes={"answer": node},
        start="answer",
        lever=f"the most frequent of {SAMPLES} answers",
        cause="vary by chance",
        files=files,
    )
    return finish(occasion, draft)
