"""Nearest neighbours: a member is expected to score as it did on the most similar known queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from portfolios.edges import Edges, Floats
from portfolios.matchers.asked import NEIGHBOURS, Asked
from portfolios.matchers.columns import column_means, columns_by_presence, error_correlation, noise_variance
from portfolios.matchers.known import Known
from portfolios.matchers.protocol import Prediction
from portfolios.nearest import Neighbours, find_nearest


@dataclass(frozen=True)
class KNN:
    """`k` neighbours weigh similarity ** `power`; `shrink` imagined neighbours score the member's mean.

    Far queries weigh little, so that their prediction falls back to the mean by itself.
    """

    k: int = 40
    power: float = 4.0
    shrink: float = 2.0
    name: str = "knn"

    def __post_init__(self) -> None:
        if self.k < 1 or self.power < 0 or self.shrink <= 0:
            raise UserError(f"{self} is out of range", place="matcher knn", fix="k >= 1, power >= 0 and shrink > 0")

    @property
    def settings(self) -> Mapping[str, JSONValue]:
        """The three numbers above."""
        return {"k": self.k, "power": self.power, "shrink": self.shrink}

    def fit(self, edges: Edges, known: Known | None = None) -> FittedKNN:
        """Keeps the edges; the noise is each member's spread around its mean."""
        known = known or Known(edges)
        means = column_means(edges.scores)
        residuals = edges.scores - means
        return FittedKNN(
            self,
            known,
            _Averages.of(edges.scores),
            None if edges.costs is None else _Averages.of(edges.costs),
            noise_variance(residuals),
            error_correlation(residuals),
        )


@dataclass(frozen=True, eq=False)
class _Averages:
    """A table with its column means, and the columns that are present in the same rows."""

    table: Floats
    means: Floats
    groups: tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]

    @classmethod
    def of(cls, table: Floats) -> _Averages:
        return cls(table, column_means(table), tuple(columns_by_presence(table)))


@dataclass(frozen=True, eq=False)
class FittedKNN:
    """Edges with the members' score variances and error correlations."""

    matcher: KNN
    known: Known
    scores: _Averages
    costs: _Averages | None
    variance: Floats
    correlation: Floats

    def predict(self, asked: Asked) -> Prediction:
        """Similarity-weighted means over each member's own known queries."""
        score, weight = self._average(self.scores, asked)
        sd = np.where(np.isnan(score), np.nan, np.sqrt(self.variance / (weight + self.matcher.shrink)))
        cost = None if self.costs is None else self._average(self.costs, asked)[0]
        return Prediction(score, sd, cost, self.correlation, asked.nearest(self.known))

    def _average(self, known: _Averages, asked: Asked) -> tuple[Floats, Floats]:
        """Weighted averages (q, m) of the present entries of a table, and the weight behind each."""
        average = np.full((len(asked.texts), len(known.means)), np.nan)
        behind = np.zeros_like(average)
        for rows, columns in known.groups:
            near = self._near(rows, asked)
            weights = np.clip(near.similarities, 0.0, 1.0) ** self.matcher.power
            values = known.table[rows[near.rows]][:, :, columns]
            total = weights.sum(axis=1)[:, None]
            pulled = (weights[:, :, None] * values).sum(axis=1) + self.matcher.shrink * known.means[columns]
            average[:, columns] = pulled / (total + self.matcher.shrink)
            behind[:, columns] = total
        return average, behind

    def _near(self, rows: NDArray[np.int64], asked: Asked) -> Neighbours:
        """Nearest among `rows`, counted from 0 within them; looked up once for all matchers where they are all."""
        k = int(self.matcher.k)
        if len(rows) == len(self.known.edges.queries) and k <= NEIGHBOURS:
            return asked.nearest(self.known).first(k)
        return find_nearest(self.known.edges.embeddings[rows], asked.embeddings, k)
