"""Label choice by log probability, calibrated by what the model would say about an input without content."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from evolve.core.errors import HarnessFault, WorldError
from evolve.core.messages import ModelRequest
from workflows.asking.calls import Calls

NO_CONTENT = "N/A"
"""The content-free input of Zhao et al. 2021, Calibrate Before Use."""


def best_label(scores: Mapping[str, float], offsets: Mapping[str, float]) -> str:
    """The label with the highest log probability minus its offset; the first asked wins a tie."""
    return max(scores, key=lambda label: scores[label] - offsets.get(label, 0.0))


async def score_labels(calls: Calls, role: str, labels: Sequence[str], request: ModelRequest) -> dict[str, float]:
    """Label → log probability. Raises WorldError when the provider left one out."""
    reply = await calls.ask(role, replace(request, labels=tuple(labels), max_tokens=1, stop=()))
    missing = [label for label in labels if label not in reply.label_logprobs]
    if missing:
        raise WorldError(f"the model reported no probability for the label {missing[0]!r}")
    return {label: reply.label_logprobs[label] for label in labels}


async def resolve_offsets(
    labels: Sequence[str], given: Mapping[str, float] | None, measure: Callable[[], Awaitable[Mapping[str, float]]]
) -> Mapping[str, float]:
    """The given offsets, else those that `measure` asks for.

    A given set must name every label: one without an offset would be favoured silently.
    """
    if given is None:
        return await measure()
    left_out = [label for label in labels if label not in given]
    if left_out:
        raise HarnessFault(f"offsets: no offset for the label {left_out[0]!r}")
    return given
