"""Family: the kind of task is inferred from the text, and each member is expected to score as it does on that kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from portfolios.edges import Edges, Floats, Vectors
from portfolios.matchers.best_single import NEIGHBOURS
from portfolios.matchers.columns import column_means, error_correlation, noise_variance
from portfolios.matchers.design import Design
from portfolios.matchers.known import Known
from portfolios.matchers.protocol import Prediction
from portfolios.matchers.ridge import RidgeTable
from portfolios.nearest import find_nearest


@dataclass(frozen=True, eq=False)
class FamilyGuess:
    """A ridge classifier of families. `known` (n, families) are the guesses for the training queries, each left out."""

    design: Design
    table: RidgeTable
    known: Floats

    @classmethod
    def of(cls, known: Known) -> FamilyGuess:
        """Learns the families of the training queries."""
        table = RidgeTable.fit(known.matrix, known.families)
        return cls(known.design, table, _shares(known.families - table.residuals))

    def guess(self, design: Floats) -> Floats:
        """Shares (q, families) that sum to 1 for rows of the design matrix."""
        return _shares(self.table.predict(design)[0])


def _shares(raw: Floats) -> Floats:
    """Squares sharpen, so that small shares of many wrong families do not add up."""
    positive = np.clip(raw, 0.0, None) ** 2 + 1e-12
    return np.asarray(positive / positive.sum(axis=1, keepdims=True), np.float64)


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
        """Means of each member in each family, and a classifier that tells families apart by the text."""
        known = known or Known(edges)
        guess = FamilyGuess.of(known)
        means, weights = _family_means(known.families, edges.scores, self.shrink)
        residuals = edges.scores - known.families @ means
        costs = None if edges.costs is None else _family_means(known.families, edges.costs, self.shrink)[0]
        return FittedFamily(
            edges.embeddings, guess, means, weights, noise_variance(residuals), costs, error_correlation(residuals)
        )


def _family_means(families: Floats, table: Floats, shrink: float) -> tuple[Floats, Floats]:
    """Means (families, m) drawn to the column mean, and the number of entries behind each, imagined ones included."""
    present = (~np.isnan(table)).astype(np.float64)
    behind = families.T @ present + shrink
    total = families.T @ np.nan_to_num(table, nan=0.0) + shrink * column_means(table)
    return total / behind, behind


@dataclass(frozen=True, eq=False)
class FittedFamily:
    """Family means (families, m) of scores and costs."""

    embeddings: Vectors
    guess: FamilyGuess
    means: Floats
    behind: Floats
    variance: Floats
    costs: Floats | None
    correlation: Floats

    def predict(self, embeddings: Vectors, texts: Sequence[str]) -> Prediction:
        """Means over the families a query may be of; doubt about the family is part of the uncertainty."""
        shares = self.guess.guess(self.guess.design.matrix(embeddings, texts))
        score = shares @ self.means
        between = shares @ self.means**2 - score**2
        sd = np.sqrt(np.maximum(between, 0.0) + shares**2 @ (self.variance / self.behind))
        return Prediction(
            np.clip(score, 0.0, 1.0),
            sd,
            None if self.costs is None else shares @ self.costs,
            self.correlation,
            find_nearest(self.embeddings, embeddings, NEIGHBOURS),
        )
