"""Trials: what each matcher under each margin would have scored on queries that its fit has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evolve.core.hashing import derive_seed
from portfolios.crossfit import Fold, Weights
from portfolios.edges import Edges, Floats
from portfolios.margins import Advantage, CostScale, advantages, values_of
from portfolios.matchers import Matcher, Prediction


@dataclass(frozen=True, slots=True)
class Trial:
    """One matcher under one margin on unseen queries: mean score, and the share it took from the best single."""

    matcher: str
    margin: float
    mean: float
    moved: float


@dataclass(frozen=True, eq=False)
class Tried:
    """A trial with the column (n,) that each unseen query went to, and what that was worth on average."""

    matcher: Matcher
    trial: Trial
    columns: NDArray[np.int64]
    worth: float


@dataclass(frozen=True, eq=False)
class Unseen:
    """Unseen queries, fold after fold. `weights` are those of a stack, one set a fold; `cost_weight` is λ."""

    folds: Sequence[Fold]
    weights: Sequence[Weights]
    far_quantile: float
    cost_weight: float = 0.0

    @cached_property
    def edges(self) -> Edges:
        """What the members scored on them."""
        tables = [fold.test for fold in self.folds]
        costs = [table.costs for table in tables if table.costs is not None]
        return replace(
            tables[0],
            queries=tuple(query for table in tables for query in table.queries),
            embeddings=np.concatenate([table.embeddings for table in tables]),
            scores=np.concatenate([table.scores for table in tables]),
            costs=np.concatenate(costs) if len(costs) == len(tables) else None,
        )

    @cached_property
    def worth(self) -> Floats:
        """What an answer of each member was worth (n, m): (1 − λ)·score + λ·(1 − cost), NaN where missing."""
        scale = CostScale.of(self.edges.costs)
        if self.cost_weight == 0.0 or scale is None or self.edges.costs is None:
            return self.edges.scores
        saved = 1.0 - scale.scaled(self.edges.costs)
        return np.asarray((1.0 - self.cost_weight) * self.edges.scores + self.cost_weight * saved, np.float64)

    @cached_property
    def kept(self) -> NDArray[np.bool_]:
        """Queries that go to the default whatever a matcher says: empty ones and far ones."""
        empty = np.array([not text.strip() for text in self.edges.texts], bool)
        return np.asarray(empty | np.concatenate([fold.far(self.far_quantile) for fold in self.folds]), bool)

    def predict(self, matcher: Matcher) -> list[Prediction]:
        """One prediction for each fold."""
        if matcher.name == "stack":
            return [fold.stacked(weights) for fold, weights in zip(self.folds, self.weights, strict=True)]
        return [fold.predict(matcher) for fold in self.folds]

    def advantages(self, predictions: Sequence[Prediction], default: int, cost_weight: float) -> Advantage:
        """The best rival of the default for each query."""
        found = []
        for fold, prediction in zip(self.folds, predictions, strict=True):
            values = values_of(prediction, cost_weight, CostScale.of(fold.fit.costs))
            found.append(advantages(prediction, values, default, cost_weight))
        return Advantage(
            np.concatenate([a.rival for a in found]),
            np.concatenate([a.margin for a in found]),
            np.concatenate([a.sd for a in found]),
        )

    def columns(self, advantage: Advantage, default: int, margin: float) -> NDArray[np.int64]:
        """Who answers each query."""
        return np.where(self.kept, default, advantage.chosen(default, margin))

    def scores_of(self, columns: NDArray[np.int64]) -> Floats:
        """What these members scored, NaN where missing."""
        return np.asarray(self.edges.scores[np.arange(len(columns)), columns], np.float64)


def try_all(unseen: Unseen, matchers: Sequence[Matcher], margins: Sequence[float], default: int) -> list[Tried]:
    """Every matcher under every margin, the most careful margin of a matcher first; none for a single member."""
    tried = []
    for matcher in matchers:
        if matcher.name == "best_single" or len(unseen.edges.members) < 2:
            continue
        advantage = unseen.advantages(unseen.predict(matcher), default, unseen.cost_weight)
        for margin in sorted(margins, reverse=True):
            columns = unseen.columns(advantage, default, margin)
            mean, moved = mean_of(unseen.scores_of(columns)), float((columns != default).mean())
            worth = mean_of(unseen.worth[np.arange(len(columns)), columns])
            tried.append(Tried(matcher, Trial(matcher.name, margin, mean, moved), columns, worth))
    return tried


@dataclass(frozen=True, eq=False)
class Pairs:
    """What routed and single answers were worth; a missing pair counts against the router where it moved."""

    routed: Floats
    single: Floats
    units: tuple[str, ...]
    missing: int


def pair_up(unseen: Unseen, columns: NDArray[np.int64], default: int, seed: int) -> Pairs:
    """The pairs, in an order that only the seed and the cases decide."""
    routed, single = unseen.worth[np.arange(len(columns)), columns], unseen.worth[:, default]
    missing = np.isnan(routed) | np.isnan(single)
    moved = (columns != default).astype(np.float64)
    queries = unseen.edges.queries
    order = sorted(range(len(queries)), key=lambda i: derive_seed(seed, "guard order", queries[i].fingerprint))
    return Pairs(
        np.nan_to_num(routed, nan=0.0)[order],
        np.where(np.isnan(single), moved, single)[order],
        tuple(queries[i].unit for i in order),
        int(missing.sum()),
    )


def mean_of(values: Floats) -> float:
    """The mean of what is present; 0 of nothing."""
    present = values[~np.isnan(values)]
    return float(present.mean()) if len(present) else 0.0
