"""Family and shares: the kind of task is inferred from the text; members are expected to score as on that kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from portfolios.edges import Edges, Floats
from portfolios.matchers.asked import Asked
from portfolios.matchers.basis import Features, Rows
from portfolios.matchers.columns import column_means, error_correlation, noise_variance
from portfolios.matchers.known import Known
from portfolios.matchers.protocol import Prediction
from portfolios.matchers.ridge import RidgeTable


@dataclass(frozen=True, eq=False)
class FamilyGuess:
    """A ridge classifier of families. `left_out` (n, families) are its guesses for known queries it was not shown."""

    known: Known
    classifier: RidgeTable
    left_out: Floats

    @classmethod
    def of(cls, known: Known) -> FamilyGuess:
        """Learns the families of the known queries."""
        classifier = RidgeTable.fit(known.features, known.families)
        return cls(known, classifier, _shares(known.families - classifier.residuals))

    def shares(self, asked: Asked) -> Floats:
        """How likely each query is of each family: (q, families), rows sum to 1."""
        return _shares(self.classifier.mean(asked.rows(self.known)))


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
        """Means of each member in each family, and a ridge classifier that tells families apart by the text."""
        known = known or Known(edges)
        means, behind = _family_means(known.families, edges.scores, self.shrink)
        residuals = edges.scores - known.families @ means
        return FittedFamily(
            FamilyGuess.of(known),
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

    guess: FamilyGuess
    means: Floats
    variance: Floats
    costs: Floats | None
    correlation: Floats

    def predict(self, asked: Asked) -> Prediction:
        """Means over the families a query may be of; doubt about the family is part of the uncertainty."""
        shares = self.guess.shares(asked)
        score = shares @ self.means
        between = np.maximum(shares @ self.means**2 - score**2, 0.0)
        return Prediction(
            np.clip(score, 0.0, 1.0),
            np.sqrt(between + shares**2 @ self.variance),
            None if self.costs is None else shares @ self.costs,
            self.correlation,
            asked.nearest(self.guess.known),
        )


@dataclass(frozen=True)
class Shares:
    """Ridge regression on the shares of the families: it corrects for families that the classifier confuses."""

    name: str = "shares"

    @property
    def settings(self) -> Mapping[str, JSONValue]:
        """It has none."""
        return {}

    def fit(self, edges: Edges, known: Known | None = None) -> FittedShares:
        """Learns from guesses that leave the query out, as they will be for new queries."""
        known = known or Known(edges)
        guess = FamilyGuess.of(known)
        features = Features(guess.left_out)
        costs = edges.costs
        return FittedShares(
            guess,
            RidgeTable.fit(features, edges.scores),
            None if costs is None else RidgeTable.fit(features, costs),
        )


@dataclass(frozen=True, eq=False)
class FittedShares:
    """Coefficients of scores and costs on the shares."""

    guess: FamilyGuess
    scores: RidgeTable
    costs: RidgeTable | None

    def predict(self, asked: Asked) -> Prediction:
        """Scores cut to [0, 1]."""
        shares = Rows(self.guess.shares(asked))
        cost = None if self.costs is None else np.maximum(self.costs.mean(shares), 0.0)
        return Prediction(
            np.clip(self.scores.mean(shares), 0.0, 1.0),
            np.minimum(self.scores.sd(shares), 0.5),
            cost,
            self.scores.correlation,
            asked.nearest(self.guess.known),
        )
