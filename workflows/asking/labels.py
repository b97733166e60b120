"""Label choice by log probability, calibrated by what the model would say about an input without content."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from evolve.core.errors import HarnessFault, WorldError
from evolve.core.messages import ModelRequest
from workflows.asking.calls import Calls

NO_CONTENT = "N/A"
"""The content-free input of Zhao et al. 2021, Calibrate Before Use."""


@dataclass(frozen=True, slots=True)
class LabelQuestion:
    """Which labels, of whom, and what to subtract. Without `offsets` the choice is not calibrated."""

    role: str
    labels: Sequence[str]
    offsets: Mapping[str, float] | None


async def choose_label(calls: Calls, question: LabelQuestion, request: ModelRequest) -> str:
    """The label with the highest log probability minus its offset; the first asked wins a tie."""
    scores = await score_labels(calls, question.role, question.labels, request)
    offsets = question.offsets or {}
    return max(question.labels, key=lambda label: scores[label] - offsets.get(label, 0.0))


async def score_labels(calls: Calls, role: str, labels: Sequence[str], request: ModelRequest) -> dict[str, float]:
    """Label → log probability. Raises WorldError when the provider left one out."""
    reply = await calls.ask(role, replace(request, labels=tuple(labels), max_tokens=1, stop=()))
    missing = [label for label in labels if label not in reply.label_logprobs]
    if missing:
        raise WorldError(f"the model reported no probability for the label {missing[0]!r}")
    return {label: reply.label_logprobs[label] for label in labels}


async def calibrated_offsets(
    calls: Calls,
    question: LabelQuestion,
    *,
    calibrate: bool,
    empty_request: Callable[[], ModelRequest],
) -> Mapping[str, float] | None:
    """The offsets to subtract: those given; else, with `calibrate`, asked for by one call about no content; else None.

    A given set must name every label: a label without offset would be favoured silently.
    """
    if question.offsets is not None:
        left_out = [label for label in question.labels if label not in question.offsets]
        if left_out:
            raise HarnessFault(f"offsets: no offset for the label {left_out[0]!r}")
        return question.offsets
    if not calibrate:
        return None
    return await score_labels(calls, question.role, question.labels, empty_request())
