"""Predictions for queries that the predicting fit has not seen: all that may be used to choose between matchers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evolve.core.hashing import derive_seed
from portfolios.edges import Edges, Floats
from portfolios.familiar import Familiarity
from portfolios.matchers import Matcher, Prediction, Stack
from portfolios.matchers.asked import Asked
from portfolios.matchers.columns import column_means
from portfolios.matchers.known import Known
from portfolios.matchers.stack import BASES, combine, learn_weights

Weights = dict[str, float]


@dataclass(frozen=True, eq=False)
class Fold:
    """Edges to fit on, and queries of other units to predict."""

    fit: Edges
    test: Edges

    @cached_property
    def known(self) -> Known:
        """What all matchers share of the fit edges."""
        return Known(self.fit)

    @cached_property
    def asked(self) -> Asked:
        """The queries to predict."""
        return Asked(self.test.embeddings, self.test.texts)

    @cached_property
    def means(self) -> Floats:
        """The members' means over the fit edges."""
        return column_means(self.fit.scores)

    def predict(self, matcher: Matcher) -> Prediction:
        """The matcher, fitted on one side, on the other side."""
        same = [name for name, base in BASES.items() if base == matcher]
        return self.bases[same[0]] if same else self._predict(matcher)

    @cached_property
    def bases(self) -> dict[str, Prediction]:
        """The predictions of every base of a stack."""
        return {name: self._predict(base) for name, base in BASES.items()}

    def _predict(self, matcher: Matcher) -> Prediction:
        return matcher.fit(self.fit, self.known).predict(self.asked)

    def stacked(self, weights: Weights) -> Prediction:
        """The stack under these weights."""
        return combine(self.means, weights, self.bases)

    def far(self, quantile: float) -> NDArray[np.bool_]:
        """Which test queries are unlike everything that was fitted on."""
        familiar = Familiarity.of(self.fit, quantile)
        nearest = self.asked.nearest(self.known).similarities
        top = nearest[:, 0] if nearest.shape[1] else np.full(len(self.test.texts), -1.0)
        return np.array([bool(familiar.why_far(t, float(s))) for t, s in zip(self.test.texts, top, strict=True)], bool)


def folds_of(edges: Edges, count: int, seed: int) -> list[Fold]:
    """At most `count` folds of whole units, drawn by the seed and the units' names alone; none for a single unit."""
    units = sorted(set(edges.units), key=lambda unit: derive_seed(seed, "fold", unit))
    if len(units) < 2:
        return []
    count = min(count, len(units))
    place = {unit: number % count for number, unit in enumerate(units)}
    of_row = np.array([place[unit] for unit in edges.units])
    columns = range(len(edges.members))
    return [
        Fold(edges.take(_rows(of_row != number), columns), edges.take(_rows(of_row == number), columns))
        for number in range(count)
    ]


def weights_of(folds: Sequence[Fold]) -> Weights:
    """Stack weights learned from the queries that each fold left out; those of `Stack()` without any."""
    if not folds:
        return Stack().weights
    names = list(BASES)
    return learn_weights(
        np.concatenate([np.broadcast_to(fold.means, fold.test.scores.shape) for fold in folds]),
        {name: np.concatenate([fold.bases[name].score for fold in folds]) for name in names},
        np.concatenate([fold.test.scores for fold in folds]),
    )


def weights_without(folds: Sequence[Fold]) -> list[Weights]:
    """For each fold the weights learned from all the others, so that its own scores do not shape its predictions."""
    return [weights_of([other for other in folds if other is not fold]) for fold in folds]


def _rows(mask: NDArray[np.bool_]) -> list[int]:
    return [int(row) for row in np.flatnonzero(mask)]
