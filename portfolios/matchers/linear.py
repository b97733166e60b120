"""Linear: one ridge regression per member on the design matrix, in closed form; with or without inferred families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from portfolios.edges import Edges, Floats, Vectors
from portfolios.matchers.best_single import NEIGHBOURS
from portfolios.matchers.design import Design
from portfolios.matchers.family import FamilyGuess
from portfolios.matchers.known import Known
from portfolios.matchers.protocol import Prediction
from portfolios.matchers.ridge import RidgeTable
from portfolios.nearest import find_nearest

_LARGEST_SD = 0.5
"""No value in [0, 1] can vary more."""


@dataclass(frozen=True)
class Linear:
    """`family_weight` sets how strongly inferred families stand beside the text; 0 leaves them out."""

    family_weight: float = 0.0
    name: str = "linear"

    def __post_init__(self) -> None:
        if self.family_weight < 0:
            raise UserError(f"{self} is out of range", place="matcher linear", fix="family_weight >= 0")

    @property
    def settings(self) -> Mapping[str, JSONValue]:
        """The one number above; the ridge penalty is chosen from the training edges."""
        return {"family_weight": self.family_weight}

    def fit(self, edges: Edges, known: Known | None = None) -> FittedLinear:
        """Fits scores and, where known, costs. Families of training queries are guesses that leave the query out."""
        known = known or Known(edges)
        matrix, guess = known.matrix, None
        if self.family_weight:
            guess = FamilyGuess.of(known)
            matrix = np.concatenate([matrix, self.family_weight * guess.known], axis=1)
        costs = edges.costs
        return FittedLinear(
            edges.embeddings,
            known.design,
            guess,
            self.family_weight,
            RidgeTable.fit(matrix, edges.scores),
            None if costs is None else RidgeTable.fit(matrix, costs),
            None if costs is None else np.nan_to_num(costs, nan=0.0).max(axis=0, initial=0.0),
        )


@dataclass(frozen=True, eq=False)
class FittedLinear:
    """Coefficients of scores and costs; costs stay between 0 and the dearest seen of each member."""

    embeddings: Vectors
    design: Design
    guess: FamilyGuess | None
    family_weight: float
    scores: RidgeTable
    costs: RidgeTable | None
    dearest: Floats | None

    def predict(self, embeddings: Vectors, texts: Sequence[str]) -> Prediction:
        """Scores cut to [0, 1]."""
        matrix = self.design.matrix(embeddings, texts)
        if self.guess is not None:
            matrix = np.concatenate([matrix, self.family_weight * self.guess.guess(matrix)], axis=1)
        score, sd = self.scores.predict(matrix)
        cost = None
        if self.costs is not None:
            cost = np.clip(self.costs.predict(matrix)[0], 0.0, self.dearest)
        return Prediction(
            np.clip(score, 0.0, 1.0),
            np.minimum(sd, _LARGEST_SD),
            cost,
            self.scores.correlation,
            find_nearest(self.embeddings, embeddings, NEIGHBOURS),
        )
