"""Label scores from the likeliest next tokens as texts, where token ids are not to be had."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evolve.models.labels import add_logs

_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Position:
    """One generated token and the natural-log probabilities of the likeliest tokens in its place, itself included."""

    chosen: str
    reported: Mapping[str, float]


def score_label_texts(labels: Sequence[str], positions: Sequence[Position]) -> dict[str, float]:
    """Label → log probability that the reply begins with it, as far as the reported tokens tell.

    Labels that share the chosen token are told apart by the next position. Labels that share another token cannot be,
    and split its probability evenly. What was not reported counts as the smallest probability that was. A leading
    space is allowed.
    """
    found: dict[str, list[float]] = {label: [] for label in labels}
    rests = [(label, spelling) for label in found for spelling in (label, f" {label}")]
    reached = 0.0
    for number, position in enumerate(positions):
        seen, rests = _score_position(position, rests, last=number == len(positions) - 1)
        for label, logprob in seen:
            found[label].append(reached + logprob)
        if not rests:
            break
        reached += position.reported[position.chosen]
    return {label: add_logs(scores) for label, scores in found.items()}


def _score_position(
    position: Position, rests: list[tuple[str, str]], *, last: bool
) -> tuple[list[tuple[str, float]], list[tuple[str, str]]]:
    """What this position says about labels with these remaining texts, and what the next one has to tell apart."""
    seen: list[tuple[str, float]] = []
    carried: list[tuple[str, str]] = []
    taken = 0.0
    for token, logprob in position.reported.items():
        members = [(label, rest[len(token) :]) for label, rest in rests if token and rest.startswith(token)]
        sharing = {label for label, _ in members}
        taken += math.exp(logprob) if sharing else 0.0
        if len(sharing) > 1 and token == position.chosen and not last:
            carried = members
        else:
            seen += [(label, logprob - math.log(len(sharing))) for label in sharing]
    told = {label for label, _ in seen} | {label for label, _ in carried}
    ended = {label for label, rest in rests if not rest}
    seen += [(label, math.log(max(1.0 - taken, _TINY))) for label in ended]
    floor = min(position.reported.values())
    seen += [(label, floor) for label in {label for label, _ in rests} - told - ended]
    return seen, carried
