"""Label scores from next-token probabilities, exact also when labels share tokens."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from evolve.core.errors import UserError

NextTokens = Callable[[tuple[int, ...]], Awaitable[Mapping[int, float]]]
"""Token ids said so far → natural-log probability of each reported next token."""

_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to write a label as tokens, e.g. with and without a leading space."""

    label: str
    tokens: tuple[int, ...]


def add_logs(values: Iterable[float]) -> float:
    """log(Σ exp(v)); -inf for nothing."""
    items = list(values)
    top = max(items, default=-math.inf)
    return top if math.isinf(top) else top + math.log(sum(math.exp(v - top) for v in items))


async def score_labels(spellings: Sequence[Spelling], ask: NextTokens) -> dict[str, float]:
    """Label → log of the summed probability of its spellings, each up to the first token that no other label shares.

    Labels without a common first token need one question and get their first token's probability. Where labels share
    tokens, the shared beginning is continued, so their scores split its probability; a label that ends where another
    goes on ("New", "New York") gets what is left after the other. What was not reported counts as the smallest
    probability that was.
    """
    found: dict[str, list[float]] = {spelling.label: [] for spelling in spellings}
    open_nodes: list[tuple[tuple[int, ...], float, list[Spelling]]] = [((), 0.0, list(spellings))]
    while open_nodes:
        said, logprob, members = open_nodes.pop()
        reported = await ask(said)
        floor = min(reported.values())
        branches: dict[int, list[Spelling]] = {}
        for spelling in members:
            if len(spelling.tokens) > len(said):
                branches.setdefault(spelling.tokens[len(said)], []).append(spelling)
        for token, branch in branches.items():
            reached = logprob + reported.get(token, floor)
            if len({s.label for s in branch}) == 1:
                found[branch[0].label].append(reached)
            else:
                open_nodes.append(((*said, token), reached, branch))
        ended = {s.label for s in members if len(s.tokens) == len(said)}
        left = 1.0 - sum(math.exp(reported.get(token, floor)) for token in branches)
        for label in ended:
            found[label].append(logprob + math.log(max(left, _TINY)))
    return {label: add_logs(scores) for label, scores in found.items()}


def check_labels(labels: Sequence[str], place: str) -> None:
    """UserError for an empty label: it begins every reply."""
    if "" in labels:
        raise UserError("a label must not be empty", place=place)


def likeliest(scores: Mapping[str, float]) -> str:
    """The label with the highest score; the first asked wins a tie."""
    return max(scores, key=scores.__getitem__)


def shared_beginning(labels: Sequence[str]) -> int:
    """Characters of the longest beginning that two different labels share."""
    ordered = sorted(set(labels))
    return max((_common(a, b) for a, b in pairwise(ordered)), default=0)


def _common(a: str, b: str) -> int:
    count = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        count += 1
    return count
