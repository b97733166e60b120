"""Graph: edge values predicted by a small network on the query–member graph (the matching step of FlowBank)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from portfolios.edges import Edges, Floats
from portfolios.matchers.asked import Asked
from portfolios.matchers.basis import Rows
from portfolios.matchers.columns import column_means, error_correlation, noise_variance
from portfolios.matchers.known import Known
from portfolios.matchers.message import Messages, Parameters, backward, forward, new_parameters
from portfolios.matchers.protocol import Prediction
from portfolios.matchers.ridge import RidgeTable

_FEATURES = 48
_FEWEST = 12
_PER_FEATURE = 4
"""The networks see at most one feature for so many known queries."""
_RATE, _FIRST, _SECOND = 5e-3, 0.9, 0.999
_LOOK = 5
_NETWORKS = 3
_LARGEST_SD = 0.5


@dataclass(frozen=True)
class Graph:
    """`width` of the hidden layers, `steps` of training, `hidden` share of queries whose edges are predicted in a step.

    Masked-edge training: in each step the edges of some queries are hidden and predicted from those of all others, so
    the network learns what it will be asked for. Scores are the mean of three networks; how they differ is part of
    the uncertainty. Costs are a ridge regression.
    """

    width: int = 32
    steps: int = 150
    hidden: float = 0.3
    name: str = "graph"

    def __post_init__(self) -> None:
        if self.width < 1 or self.steps < 0 or not 0.0 < self.hidden < 1.0:
            fix = "width >= 1, steps >= 0 and 0 < hidden < 1"
            raise UserError(f"{self} is out of range", place="matcher graph", fix=fix)

    @property
    def settings(self) -> Mapping[str, JSONValue]:
        """The three numbers above."""
        return {"width": self.width, "steps": self.steps, "hidden": self.hidden}

    def fit(self, edges: Edges, known: Known | None = None) -> FittedGraph:
        """Trains the networks; with fewer than 12 known queries every prediction stays the member's mean."""
        known = known or Known(edges)
        means = column_means(edges.scores)
        scale = _scale_of(known)
        inputs = _inputs(known, Rows(known.features.matrix), scale)
        enough = len(inputs) >= _FEWEST
        networks = [self._train(inputs, edges.scores, means, seed) for seed in range(_NETWORKS)] if enough else []
        residuals = edges.scores - means
        variance = noise_variance(residuals) / np.maximum(edges.counts, 1)
        costs = None if edges.costs is None else RidgeTable.fit(known.features, edges.costs)
        messages = Messages.of(inputs, edges.scores, means)
        return FittedGraph(known, scale, messages, networks, means, variance, costs, error_correlation(residuals))

    def _train(self, inputs: Floats, scores: Floats, means: Floats, seed: int) -> Parameters:
        """Adam (Kingma & Ba 2015) on the cross-entropy of hidden edges, stopped where that of set-aside ones is least.

        A fifth of the queries is set aside from the steps.
        """
        rng = np.random.default_rng(seed)
        aside = rng.permutation(len(inputs)) < max(2, len(inputs) // 5)
        taught, told = inputs[~aside], scores[~aside]
        everyone = Messages.of(taught, told, means)
        p = new_parameters(inputs.shape[1], scores.shape[1], int(self.width), rng)
        first, second = ({name: np.zeros_like(value) for name, value in p.items()} for _ in range(2))
        best, least = p, np.inf
        for step in range(1, int(self.steps) + 1):
            hidden = _some(len(taught), self.hidden, rng)
            known = Messages.of(taught[~hidden], told[~hidden], means)
            made = forward(p, known, taught[hidden])
            gradients = backward(p, known, taught[hidden], made, _slope(made.logits, told[hidden], means))
            for name, gradient in gradients.items():
                first[name] = _FIRST * first[name] + (1 - _FIRST) * gradient
                second[name] = _SECOND * second[name] + (1 - _SECOND) * gradient**2
                change = first[name] / (1 - _FIRST**step)
                p = {**p, name: p[name] - _RATE * change / (np.sqrt(second[name] / (1 - _SECOND**step)) + 1e-8)}
            if step % _LOOK == 0:
                loss = _loss(forward(p, everyone, inputs[aside]).logits, scores[aside], means)
                best, least = (p, loss) if loss < least else (best, least)
        return best


def _some(count: int, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A random choice that leaves at least one on each side."""
    size = min(max(1, round(count * share)), count - 1)
    return np.asarray(rng.permutation(count) < size, bool)


def _loss(logits: Floats, scores: Floats, means: Floats) -> float:
    """Mean cross-entropy over present edges."""
    chance, present = np.clip(_chance(logits, means), 1e-9, 1 - 1e-9), ~np.isnan(scores)
    wanted = np.nan_to_num(scores, nan=0.0)
    losses = -(wanted * np.log(chance) + (1 - wanted) * np.log(1 - chance))
    return float(losses[present].mean()) if present.any() else np.inf


def _scale_of(known: Known) -> Floats:
    """Features are the leading coordinates of the design matrix, in units of the first one's spread."""
    squares = known.features.decomposed.basis.squares
    count = min(_FEATURES, max(1, known.features.decomposed.basis.rows // _PER_FEATURE))
    order = np.argsort(-squares, kind="stable")[:count]
    spread = np.sqrt(max(float(squares.max(initial=0.0)), 1e-12) / max(known.features.decomposed.basis.rows, 1))
    picked = np.zeros((len(squares), len(order)))
    picked[order, np.arange(len(order))] = 1.0 / spread
    return picked


def _inputs(known: Known, rows: Rows, scale: Floats) -> Floats:
    return np.asarray(rows.coordinates(known.features.decomposed.basis).inside @ scale, np.float64)


def _chance(logits: Floats, means: Floats) -> Floats:
    """Scores (q, m): a logit of 0 is the member's mean."""
    safe = np.clip(np.nan_to_num(means, nan=0.5), 0.01, 0.99)
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits + np.log(safe / (1.0 - safe)), -30.0, 30.0))), np.float64)


def _slope(logits: Floats, scores: Floats, means: Floats) -> Floats:
    """Derivative of the mean cross-entropy by the logits; missing edges have none."""
    present = ~np.isnan(scores)
    errors = np.where(present, _chance(logits, means) - np.nan_to_num(scores, nan=0.0), 0.0)
    return np.asarray(errors / max(int(present.sum()), 1), np.float64)


@dataclass(frozen=True, eq=False)
class FittedGraph:
    """Trained networks and the known queries whose edges are the messages."""

    known: Known
    scale: Floats
    messages: Messages
    networks: list[Parameters]
    means: Floats
    variance: Floats
    costs: RidgeTable | None
    correlation: Floats

    def predict(self, asked: Asked) -> Prediction:
        """Scores of queries without edges; NaN for a member without any."""
        rows = asked.rows(self.known)
        inputs = _inputs(self.known, rows, self.scale)
        each = [_chance(forward(p, self.messages, inputs).logits, self.means) for p in self.networks]
        each = each or [np.tile(self.means, (len(asked.texts), 1))]
        missing = np.isnan(self.means)
        sd = np.minimum(np.sqrt(np.var(each, axis=0) + self.variance), _LARGEST_SD)
        cost = None if self.costs is None else np.maximum(self.costs.mean(rows), 0.0)
        return Prediction(
            np.where(missing, np.nan, np.mean(each, axis=0)),
            np.where(missing, np.nan, sd),
            cost,
            self.correlation,
            asked.nearest(self.known),
        )
