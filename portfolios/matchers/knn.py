"""Nearest neighbours: a member is expected to score as it did on the most similar known queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from portfolios.edges import Edges, Floats, Vectors
from portfolios.matchers.columns import column_means, columns_by_presence, error_correlation, noise_variance
from portfolios.matchers.known import Known
from portfolios.matchers.protocol import Prediction
from portfolios.nearest import find_nearest


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
        means = column_means(edges.scores)
        residuals = edges.scores - means
        return FittedKNN(self, edges, means, noise_variance(residuals), error_correlation(residuals))


@dataclass(frozen=True, eq=False)
class FittedKNN:
    """Edges with the members' means, score variances and error correlations."""

    matcher: KNN
    edges: Edges
    means: Floats
    variance: Floats
    correlation: Floats

    def predict(self, embeddings: Vectors, texts: Sequence[str]) -> Prediction:
        """Similarity-weighted means over each member's own known queries."""
        score, weight = self._average(self.edges.scores, self.means, embeddings)
        sd = np.sqrt(self.variance / (weight + self.matcher.shrink))
        cost = None
        if self.edges.costs is not None:
            cost, _ = self._average(self.edges.costs, column_means(self.edges.costs), embeddings)
        neighbours = find_nearest(self.edges.embeddings, embeddings, self.matcher.k)
        return Prediction(score, np.where(np.isnan(score), np.nan, sd), cost, self.correlation, neighbours)

    def _average(self, table: Floats, means: Floats, embeddings: Vectors) -> tuple[Floats, Floats]:
        """Weighted averages (q, m) of the present entries of `table`, and the weight behind each."""
        average = np.full((len(embeddings), table.shape[1]), np.nan)
        behind = np.zeros_like(average)
        for rows, columns in columns_by_presence(table):
            near = find_nearest(self.edges.embeddings[rows], embeddings, self.matcher.k)
            weights = np.clip(near.similarities, 0.0, 1.0) ** self.matcher.power
            values = table[rows][:, columns][near.rows]
            total = weights.sum(axis=1)[:, None]
            pulled = (weights[:, :, None] * values).sum(axis=1) + self.matcher.shrink * means[columns]
            average[:, columns] = pulled / (total + self.matcher.shrink)
            behind[:, columns] = total
        return average, behind
