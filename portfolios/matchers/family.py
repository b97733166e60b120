"""Family: the kind of task is inferred from the text, and each member is expected to score as it does on that kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from portfolios.edges import Edges, Floats
from portfolios.matchers.asked import Asked
from portfolios.matchers.columns import column_means, error_correlation, noise_variance
from portfolios.matchers.known import Known
from portfolios.matchers.protocol import Prediction
from portfolios.matchers.ridge import RidgeTable


@dataclass(frozen=True)
class Family:
    """`shrink` imagined queries of each family score the member's mean over all families."""

    shrink: float = 5.0
    name: str = "family"

    def __post_init__(self) -> None:
        if self.shrink <= 0:
            raise UserError(f"{self} is out of range", place="matcher family", fix="shrink > 0")

    @property
    def settings(self) -> Mapping[str, JSONValue]:
        """The one number above."""
        return {"shrink": self.shrink}

    def fit(self, edges: Edges, known: Known | None = None) -> FittedFamily:
        """Means of each member in each family, and a ridge classifier that tells families apart by the text."""
        known = known or Known(edges)
        means, behind = _family_means(known.families, edges.scores, self.shrink)
        residuals = edges.scores - known.families @ means
        return FittedFamily(
            known,
            RidgeTable.fit(known, known.families),
            means,
            noise_variance(residuals) / behind,
            None if edges.costs is None else _family_means(known.families, edges.costs, self.shrink)[0],
            error_correlation(residuals),
        )


def _family_means(families: Floats, table: Floats, shrink: float) -> tuple[Floats, Floats]:
    """Means (families, m) drawn to the column mean, and the number of entries behind each, imagined ones included."""
    present = (~np.isnan(table)).astype(np.float64)
    behind = families.T @ present + shrink
    total = families.T @ np.nan_to_num(table, nan=0.0) + shrink * column_means(table)
    return total / behind, behind


@dataclass(frozen=True, eq=False)
class FittedFamily:
    """Family means (families, m) of scores and costs; `variance` is that of each score mean."""

    known: Known
    classifier: RidgeTable
    means: Floats
    variance: Floats
    costs: Floats | None
    correlation: Floats

    def predict(self, asked: Asked) -> Prediction:
        """Means over the families a query may be of; doubt about the family is part of the uncertainty."""
        shares = _shares(self.classifier.mean(asked))
        score = shares @ self.means
        between = np.maximum(shares @ self.means**2 - score**2, 0.0)
        return Prediction(
            np.clip(score, 0.0, 1.0),
            np.sqrt(between + shares**2 @ self.variance),
            None if self.costs is None else shares @ self.costs,
            self.correlation,
            asked.nearest(self.known),
        )


def _shares(raw: Floats) -> Floats:
    """Rows that sum to 1. Squares sharpen, so that small shares of many wrong families do not add up."""
    positive = np.clip(raw, 0.0, None) ** 2 + 1e-12
    return np.asarray(positive / positive.sum(axis=1, keepdims=True), np.float64)
