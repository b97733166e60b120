"""Linear: one ridge regression per member on the embedding and lexical features, in closed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from portfolios.edges import Edges, Floats, Vectors
from portfolios.features import lexical_features
from portfolios.matchers.best_single import NEIGHBOURS
from portfolios.matchers.protocol import Prediction
from portfolios.matchers.ridge import RidgeTable
from portfolios.nearest import find_nearest

_LARGEST_SD = 0.5
"""No value in [0, 1] can vary more."""


@dataclass(frozen=True)
class Linear:
    """`lexical_weight` sets the lexical block's total variance against that of the embedding block (1)."""

    lexical_weight: float = 1.0
    name: str = "linear"

    def __post_init__(self) -> None:
        if self.lexical_weight < 0:
            raise UserError(f"{self} is out of range", place="matcher linear", fix="lexical_weight >= 0")

    @property
    def settings(self) -> Mapping[str, JSONValue]:
        """The one number above; the ridge penalty is chosen from the training edges."""
        return {"lexical_weight": self.lexical_weight}

    def fit(self, edges: Edges) -> FittedLinear:
        """Scales both blocks on the training queries, then fits scores and, where known, costs."""
        scaling = Scaling.of(edges.embeddings, edges.texts, self.lexical_weight)
        design = scaling.design(edges.embeddings, edges.texts)
        costs = edges.costs
        return FittedLinear(
            edges.embeddings,
            scaling,
            RidgeTable.fit(design, edges.scores),
            None if costs is None else RidgeTable.fit(design, costs),
            None if costs is None else np.nan_to_num(costs, nan=0.0).max(axis=0, initial=0.0),
        )


@dataclass(frozen=True, eq=False)
class Scaling:
    """Makes one design matrix of an embedding and a lexical block, so that one penalty is fair to both."""

    centre: Floats
    embedding_scale: float
    lexical_centre: Floats
    lexical_scale: Floats
    lexical_limit: float

    @classmethod
    def of(cls, embeddings: Vectors, texts: Sequence[str], lexical_weight: float) -> Scaling:
        """From training queries; a lexical column that never varies is switched off."""
        wide = embeddings.astype(np.float64)
        spread = float(np.sqrt(wide.var(axis=0).sum()))
        lexical = lexical_features(texts)
        sd = lexical.std(axis=0)
        share = float(np.sqrt(lexical_weight / lexical.shape[1]))
        scale = np.where(sd > 1e-9, share / np.maximum(sd, 1e-9), 0.0)
        return cls(wide.mean(axis=0), 1.0 / max(spread, 1e-9), lexical.mean(axis=0), scale, 4.0 * share)

    def design(self, embeddings: Vectors, texts: Sequence[str]) -> Floats:
        """(q, d + lexical features); lexical values are cut at four standard deviations."""
        wide = (embeddings.astype(np.float64) - self.centre) * self.embedding_scale
        lexical = (lexical_features(texts) - self.lexical_centre) * self.lexical_scale
        return np.concatenate([wide, np.clip(lexical, -self.lexical_limit, self.lexical_limit)], axis=1)


@dataclass(frozen=True, eq=False)
class FittedLinear:
    """Coefficients of scores and costs; costs stay between 0 and the dearest seen of each member."""

    known: Vectors
    scaling: Scaling
    scores: RidgeTable
    costs: RidgeTable | None
    dearest: Floats | None

    def predict(self, embeddings: Vectors, texts: Sequence[str]) -> Prediction:
        """Scores cut to [0, 1]."""
        design = self.scaling.design(embeddings, texts)
        score, sd = self.scores.predict(design)
        cost = None
        if self.costs is not None:
            cost = np.clip(self.costs.predict(design)[0], 0.0, self.dearest)
        return Prediction(
            np.clip(score, 0.0, 1.0),
            np.minimum(sd, _LARGEST_SD),
            cost,
            self.scores.correlation,
            find_nearest(self.known, embeddings, NEIGHBOURS),
        )
