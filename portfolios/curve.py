"""The quality–cost curve of a portfolio: single members, the router over λ, and the bounds random and oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.core.errors import UserError
from portfolios.crossfit import folds_of, weights_without
from portfolios.edges import Edges, Floats
from portfolios.matchers import Matcher, find_best_single
from portfolios.recipe import RouterPolicy
from portfolios.trials import Unseen

FOLDS = 5
_SHOWN = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""The cost weights λ that are drawn."""
_DRAWS = 2_000


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One way to answer all queries. `kind` is single, routed, random or oracle.

    `score` is a mean in [0, 1], `cost` mean dollars a query (None when unknown). `gain` is the difference to the best
    single member with its 95 % paired bootstrap interval over units.
    """

    kind: str
    name: str
    score: float
    cost: float | None
    gain: float
    gain_low: float
    gain_high: float


@dataclass(frozen=True)
class Curve:
    """All points over the same `queries`. `recovered` is the area of `gap_recovered`, None where it means nothing."""

    queries: int
    best_single: str
    points: tuple[CurvePoint, ...]
    recovered: float | None

    def of_kind(self, kind: str) -> tuple[CurvePoint, ...]:
        """The points of a kind, in order."""
        return tuple(point for point in self.points if point.kind == kind)


def draw_curve(edges: Edges, matcher: Matcher, policy: RouterPolicy, seed: int = 0) -> Curve:
    """Measured on the version's own edges, each query answered by a router that was fitted without its unit.

    Rows with a missing score are left out, so that all points stand on the same queries. UserError when fewer than two
    units are left.
    """
    complete = np.flatnonzero(~np.isnan(edges.scores).any(axis=1))
    edges = edges.take(complete.tolist(), range(len(edges.members))).in_order()
    folds = folds_of(edges, FOLDS, seed)
    if not folds:
        raise UserError("too few complete cases for a curve", fix="measure more train cases (portfolio.fit_cases)")
    weights = weights_without(folds) if matcher.name == "stack" else [{} for _ in folds]
    unseen = Unseen(folds, weights, policy.far_quantile)
    table = unseen.edges
    best = table.members.index(find_best_single(table))
    ways = _ways(unseen, matcher, policy)
    points = tuple(_point(kind, name, chosen, table, best) for kind, name, chosen in ways)
    return Curve(len(table.queries), table.members[best], points, gap_recovered(points))


Chosen = Floats
"""How much of each query each member answers: (n, m), rows sum to 1."""


def _ways(unseen: Unseen, matcher: Matcher, policy: RouterPolicy) -> list[tuple[str, str, Chosen]]:
    table = unseen.edges
    rows, members = table.scores.shape
    ways = [("single", member, np.tile(np.eye(members)[j], (rows, 1))) for j, member in enumerate(table.members)]
    default = table.members.index(policy.default_member)
    predictions = unseen.predict(matcher)
    priced = table.costs is not None
    for weight in _SHOWN if priced else _SHOWN[:1]:
        columns = unseen.columns(unseen.advantages(predictions, default, weight), default, policy.margin)
        ways.append(("routed", f"λ = {weight:g}", np.eye(members)[columns]))
    ways.append(("random", "random", np.full((rows, members), 1.0 / members)))
    ways.append(("oracle", "oracle", np.eye(members)[_oracle(table)]))
    return ways


def _oracle(table: Edges) -> NDArray[np.int64]:
    """The best member of each query, the cheapest of several."""
    costs = np.zeros_like(table.scores) if table.costs is None else np.nan_to_num(table.costs, nan=np.inf)
    return np.asarray(np.lexsort((costs, -table.scores), axis=1)[:, 0], np.int64)


def _point(kind: str, name: str, chosen: Chosen, table: Edges, best: int) -> CurvePoint:
    scores = (chosen * table.scores).sum(axis=1)
    cost = None
    if table.costs is not None:
        spent = np.where(chosen > 0, chosen * table.costs, 0.0).sum(axis=1)
        cost = None if np.isnan(spent).any() else float(spent.mean())
    gain, low, high = paired_interval(scores - table.scores[:, best], table.units)
    return CurvePoint(kind, name, float(scores.mean()), cost, gain, low, high)


def paired_interval(differences: Floats, units: Sequence[str]) -> tuple[float, float, float]:
    """Mean difference and its 95 % percentile bootstrap interval, whole units drawn together."""
    _, place = np.unique(np.array(units), return_inverse=True)
    total, count = np.bincount(place, differences), np.bincount(place)
    draws = np.random.default_rng(0).integers(0, len(total), (_DRAWS, len(total)))
    means = total[draws].sum(axis=1) / count[draws].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(differences.mean()), float(low), float(high)


def gap_recovered(points: Sequence[CurvePoint]) -> float | None:
    """Average share of the gap between the cheapest and the best single member that routing recovers.

    Averaged over budgets from the cost of the one to that of the other; at each budget the best routed point within it
    counts, at worst the cheapest member itself. A random mix of the two would recover 0.5, the best single is 1 at its
    own cost, and more than 1 is possible (Ong et al. 2024, as APGR). None without costs, or where the best single
    member is also the cheapest.
    """
    singles = [p for p in points if p.kind == "single"]
    if any(p.cost is None for p in points) or not singles:
        return None
    cheapest = min(singles, key=lambda p: (p.cost or 0.0, -p.score))
    best = max(singles, key=lambda p: (p.score, -(p.cost or 0.0)))
    low, high = cheapest.cost or 0.0, best.cost or 0.0
    if high <= low or best.score <= cheapest.score:
        return None
    budgets = np.linspace(low, high, 101)
    routed = [p for p in points if p.kind == "routed"]
    reached = [max([cheapest.score, *(p.score for p in routed if (p.cost or 0.0) <= b + 1e-15)]) for b in budgets]
    return float((np.mean(reached) - cheapest.score) / (best.score - cheapest.score))
