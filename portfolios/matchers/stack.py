"""Stack: a weighted sum of the other matchers' predictions (stacking with non-negative weights, Breiman 1996)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from portfolios.edges import Edges, Floats
from portfolios.matchers.asked import Asked
from portfolios.matchers.columns import column_means
from portfolios.matchers.factor import Factor
from portfolios.matchers.family import Family, Shares
from portfolios.matchers.knn import KNN
from portfolios.matchers.known import Known
from portfolios.matchers.linear import Linear
from portfolios.matchers.protocol import FittedMatcher, Matcher, Prediction

DIGITS = 2
"""Weights are rounded to this many decimals: the recipe of a version holds no more."""
_SWEEPS = 200
_RIDGE = 1e-6


@dataclass(frozen=True)
class Stack:
    """One weight for each base; a member's prediction is its mean plus the weighted departures from it.

    Weights are not learned in `fit`: `with_weights` learns them from predictions of queries that were left out.
    """

    family: float = 0.3
    shares: float = 0.0
    linear: float = 0.3
    factor: float = 0.0
    knn: float = 0.3
    name: str = "stack"

    def __post_init__(self) -> None:
        weights = list(self.weights.values())
        if min(weights) < 0 or max(weights) > 10:
            raise UserError(f"{self} is out of range", place="matcher stack", fix="weights between 0 and 10")

    @property
    def weights(self) -> dict[str, float]:
        """By base."""
        return {name: getattr(self, name) for name in BASES}

    @property
    def settings(self) -> Mapping[str, JSONValue]:
        """The weights."""
        return dict(self.weights)

    def fit(self, edges: Edges, known: Known | None = None) -> FittedStack:
        """Fits every base that has a weight; with no weight at all the prediction is the member's mean."""
        known = known or Known(edges)
        used = {name: weight for name, weight in self.weights.items() if weight} or {"family": 0.0}
        fitted = {name: BASES[name].fit(edges, known) for name in used}
        return FittedStack(column_means(edges.scores), used, fitted)


BASES: Mapping[str, Matcher] = {
    "family": Family(),
    "shares": Shares(),
    "linear": Linear(),
    "factor": Factor(),
    "knn": KNN(),
}
"""What a stack is made of, by the name of its weight."""


@dataclass(frozen=True, eq=False)
class FittedStack:
    """Fitted bases with their weights."""

    means: Floats
    weights: Mapping[str, float]
    fitted: Mapping[str, FittedMatcher]

    def predict(self, asked: Asked) -> Prediction:
        """Scores cut to [0, 1]."""
        return combine(self.means, self.weights, {name: base.predict(asked) for name, base in self.fitted.items()})


def combine(means: Floats, weights: Mapping[str, float], predictions: Mapping[str, Prediction]) -> Prediction:
    """The weighted sum. Bases err together, so their uncertainties add up; costs are averaged by weight."""
    used = {name: weight for name, weight in weights.items() if weight}
    names = list(used) or list(predictions)[:1]
    total = sum(used.values())
    shares = {name: used[name] / total if total else 1.0 for name in names}
    score = means.copy()
    for name in names:
        score = score + used.get(name, 0.0) * (predictions[name].score - means)
    missing = np.any([np.isnan(predictions[name].score) for name in names], axis=0)
    costs = [(shares[name], predictions[name].cost) for name in names]
    cost = None
    if all(dollars is not None for _, dollars in costs):
        cost = _sum([share * dollars for share, dollars in costs if dollars is not None])
    return Prediction(
        np.where(missing, np.nan, np.clip(score, 0.0, 1.0)),
        _sum([shares[name] * predictions[name].sd for name in names]),
        cost,
        _sum([shares[name] * predictions[name].correlation for name in names]),
        predictions[names[0]].neighbours,
    )


def _sum(tables: Sequence[Floats]) -> Floats:
    return np.asarray(np.sum(tables, axis=0), np.float64)


def learn_weights(means: Floats, predictions: Mapping[str, Floats], scores: Floats) -> dict[str, float]:
    """Non-negative weights that explain best which member is better on which query (least squares).

    `means` and each prediction (n, m) must not have seen the row's own score. What lifts or lowers all members of a
    query together does not help to choose between them, so it is taken out first.
    """
    names = list(predictions)
    wanted = _between_members(scores - means, ~np.isnan(scores))
    columns = np.stack([_between_members(predictions[n] - means, ~np.isnan(scores)).ravel() for n in names], axis=1)
    gram = columns.T @ columns
    gram += _RIDGE * max(float(np.trace(gram)), 1e-9) * np.eye(len(names))
    found = _non_negative(gram, columns.T @ wanted.ravel())
    return {name: round(float(value), DIGITS) for name, value in zip(names, found, strict=True)}


def _between_members(table: Floats, present: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Floats:
    """Departures from the row's mean over present entries; 0 where missing."""
    filled = np.where(present, np.nan_to_num(table, nan=0.0), 0.0)
    centre = filled.sum(axis=1, keepdims=True) / np.maximum(present.sum(axis=1, keepdims=True), 1)
    return np.asarray(np.where(present, filled - centre, 0.0), np.float64)


def _non_negative(gram: Floats, target: Floats) -> Floats:
    """argmin over w >= 0 of w'Gw/2 − w't, by coordinate descent."""
    weights = np.zeros(len(target))
    for _ in range(_SWEEPS):
        for j in range(len(target)):
            rest = target[j] - gram[j] @ weights + gram[j, j] * weights[j]
            weights[j] = max(0.0, rest / gram[j, j])
    return weights
