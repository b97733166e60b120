"""What a matcher is: fitted on edges, it predicts every member's score and cost on a new query, with uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from evolve.core.hashing import JSONValue
from portfolios.edges import Edges, Floats
from portfolios.matchers.asked import Asked
from portfolios.matchers.known import Known
from portfolios.nearest import Neighbours


@dataclass(frozen=True, eq=False)
class Prediction:
    """For q queries and m members, columns in the order of the edges' members.

    `score` and `sd` (q, m): expected score and the standard deviation of that expectation, NaN for a member without
    training edges. `cost` (q, m) in dollars, or None when no training cost is known. `correlation` (m, m) says how the
    members' errors move together: two members that fail alike differ less than their own uncertainties suggest.
    """

    score: Floats
    sd: Floats
    cost: Floats | None
    correlation: Floats
    neighbours: Neighbours

    def advantage_sd(self, row: int, member: int, other: int) -> float:
        """Standard deviation of score[row, member] − score[row, other]."""
        a, b = float(self.sd[row, member]), float(self.sd[row, other])
        return float(np.sqrt(max(a * a + b * b - 2.0 * float(self.correlation[member, other]) * a * b, 0.0)))


class FittedMatcher(Protocol):
    """A matcher that has seen its training edges."""

    def predict(self, asked: Asked) -> Prediction:
        """Predictions for q queries."""
        ...


class Matcher(Protocol):
    """One way to learn from edges. Deterministic: equal edges in equal order give equal predictions."""

    @property
    def name(self) -> str:
        """The name in the registry."""
        ...

    @property
    def settings(self) -> Mapping[str, JSONValue]:
        """Everything that `open_matcher` needs, beside the name, to build it again."""
        ...

    def fit(self, edges: Edges, known: Known | None = None) -> FittedMatcher:
        """Learns from training edges only; members may miss edges, each is fitted on the ones it has.

        `known` is what was worked out of the same edges before, so that several matchers share it.
        """
        ...
