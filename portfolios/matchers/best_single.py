"""Best single: no matching at all, every query goes to the member with the best mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from portfolios.edges import Edges, Floats
from portfolios.matchers.asked import Asked
from portfolios.matchers.columns import column_means, error_correlation, noise_variance
from portfolios.matchers.known import Known
from portfolios.matchers.protocol import Prediction


def find_best_single(edges: Edges, members: Sequence[str] | None = None) -> str:
    """The member (of `members`) with the best mean; ties go to the cheaper one, an unknown cost last, then by id."""
    means = column_means(edges.scores)
    costs = np.full(len(edges.members), np.nan) if edges.costs is None else column_means(edges.costs)
    ranked = [
        (-round(float(means[j]), 9), float(np.nan_to_num(costs[j], nan=np.inf)), tree)
        for j, tree in enumerate(edges.members)
        if not np.isnan(means[j]) and (members is None or tree in members)
    ]
    if not ranked:
        raise UserError("no member has an edge, so there is no best one", fix="evaluate the members on these cases")
    return min(ranked)[2]


@dataclass(frozen=True)
class BestSingle:
    """The matcher that predicts every member's training mean, whatever the query."""

    name: str = "best_single"

    @property
    def settings(self) -> Mapping[str, JSONValue]:
        """It has none."""
        return {}

    def fit(self, edges: Edges, known: Known | None = None) -> FittedBestSingle:
        """Means, their standard errors and mean costs."""
        means = column_means(edges.scores)
        residuals = edges.scores - means
        sd = np.sqrt(noise_variance(residuals) / np.maximum(edges.counts, 1))
        return FittedBestSingle(
            known or Known(edges),
            means,
            np.where(edges.counts > 0, sd, np.nan),
            None if edges.costs is None else column_means(edges.costs),
            error_correlation(residuals),
        )


@dataclass(frozen=True, eq=False)
class FittedBestSingle:
    """Constant predictions; neighbours are reported for explanation only."""

    known: Known
    means: Floats
    sd: Floats
    costs: Floats | None
    correlation: Floats

    def predict(self, asked: Asked) -> Prediction:
        """The same row for every query."""
        rows = len(asked.texts)
        return Prediction(
            np.tile(self.means, (rows, 1)),
            np.tile(self.sd, (rows, 1)),
            None if self.costs is None else np.tile(self.costs, (rows, 1)),
            self.correlation,
            asked.nearest(self.known),
        )
