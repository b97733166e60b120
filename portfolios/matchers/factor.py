"""Factor: queries and members meet in a few shared dimensions (reduced-rank regression, Izenman 1975)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from portfolios.edges import Edges, Floats
from portfolios.matchers.asked import Asked
from portfolios.matchers.basis import Rows
from portfolios.matchers.columns import column_means
from portfolios.matchers.known import Known
from portfolios.matchers.linear import FittedLinear, Linear
from portfolios.matchers.protocol import Prediction


@dataclass(frozen=True)
class Factor:
    """Members differ along `rank` directions; what a query needs of each direction is linear in its features.

    Members that behave alike lend each other their edges, which helps where each has few.
    """

    rank: int = 3
    name: str = "factor"

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise UserError(f"{self} is out of range", place="matcher factor", fix="rank >= 1")

    @property
    def settings(self) -> Mapping[str, JSONValue]:
        """The one number above."""
        return {"rank": self.rank}

    def fit(self, edges: Edges, known: Known | None = None) -> FittedFactor:
        """Fits every member alone, then keeps the directions that carry most of what the fits say."""
        known = known or Known(edges)
        linear = Linear().fit(edges, known)
        means = column_means(edges.scores)
        fitted = np.nan_to_num(linear.scores.mean(Rows(known.features.matrix)) - means, nan=0.0)
        _, _, directions = np.linalg.svd(fitted, full_matrices=False)
        return FittedFactor(linear, means, directions[: int(self.rank)])


@dataclass(frozen=True, eq=False)
class FittedFactor:
    """The fits of each member and the directions (rank, m) they share."""

    linear: FittedLinear
    means: Floats
    directions: Floats

    def predict(self, asked: Asked) -> Prediction:
        """The linear prediction, projected on the shared directions."""
        alone = self.linear.predict(asked)
        offsets = np.nan_to_num(alone.score - self.means, nan=0.0)
        score = self.means + offsets @ self.directions.T @ self.directions
        return Prediction(np.clip(score, 0.0, 1.0), alone.sd, alone.cost, alone.correlation, alone.neighbours)
