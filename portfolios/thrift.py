"""Thrift: how much cheaper queries can be served before the score falls, by predictions that have not seen them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from portfolios.matchers import Matcher
from portfolios.trials import Unseen, mean_of

WEIGHTS = (*(step / 50 for step in range(25)), *(step / 20 for step in range(10, 20)))
"""The cost weights λ that are tried."""


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """Unseen queries routed under one λ: mean score, and mean dollars a query (None when a cost is unknown)."""

    cost_weight: float
    score: float
    cost: float | None


def tradeoffs(
    unseen: Unseen, matcher: Matcher, default: int, margin: float, weights: Sequence[float] = WEIGHTS
) -> list[Tradeoff]:
    """One point for each λ, λ = 0 first; `default` is a column of the unseen edges."""
    predictions = unseen.predict(matcher)
    points = []
    for weight in weights:
        columns = unseen.columns(unseen.advantages(predictions, default, weight), default, margin)
        costs = unseen.edges.costs
        spent = None if costs is None else costs[np.arange(len(columns)), columns]
        known = spent is not None and not np.isnan(spent).any()
        score = mean_of(unseen.scores_of(columns))
        points.append(Tradeoff(weight, score, mean_of(spent) if spent is not None and known else None))
    return points


def thriftiest(points: Sequence[Tradeoff], least: float) -> Tradeoff | None:
    """The cheapest point that scores at least `least`; None when none does or no cost is known."""
    enough = [(point.cost, point.cost_weight, point) for point in points if point.score >= least - 1e-12]
    priced = [(cost, weight, point) for cost, weight, point in enough if cost is not None]
    return min(priced, key=lambda item: item[:2])[2] if priced else None
