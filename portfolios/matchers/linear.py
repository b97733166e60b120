"""Linear: one ridge regression per member on the design matrix (embedding, lexical features, terms), in closed form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evolve.core.hashing import JSONValue
from portfolios.edges import Edges, Floats
from portfolios.matchers.asked import Asked
from portfolios.matchers.known import Known
from portfolios.matchers.protocol import Prediction
from portfolios.matchers.ridge import RidgeTable

_LARGEST_SD = 0.5
"""No value in [0, 1] can vary more."""


@dataclass(frozen=True)
class Linear:
    """The ridge penalty is chosen from the training edges."""

    name: str = "linear"

    @property
    def settings(self) -> Mapping[str, JSONValue]:
        """It has none."""
        return {}

    def fit(self, edges: Edges, known: Known | None = None) -> FittedLinear:
        """Fits scores and, where known, costs."""
        known = known or Known(edges)
        costs = edges.costs
        return FittedLinear(
            known,
            RidgeTable.fit(known.features, edges.scores),
            None if costs is None else RidgeTable.fit(known.features, costs),
            None if costs is None else np.nan_to_num(costs, nan=0.0).max(axis=0, initial=0.0),
        )


@dataclass(frozen=True, eq=False)
class FittedLinear:
    """Coefficients of scores and costs; costs stay between 0 and the dearest seen of each member."""

    known: Known
    scores: RidgeTable
    costs: RidgeTable | None
    dearest: Floats | None

    def predict(self, asked: Asked) -> Prediction:
        """Scores cut to [0, 1]."""
        rows = asked.rows(self.known)
        cost = None if self.costs is None else np.clip(self.costs.mean(rows), 0.0, self.dearest)
        return Prediction(
            np.clip(self.scores.mean(rows), 0.0, 1.0),
            np.minimum(self.scores.sd(rows), _LARGEST_SD),
            cost,
            self.scores.correlation,
            asked.nearest(self.known),
        )
