"""The margin rule for many queries at once: who is worth leaving the default for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from portfolios.edges import Floats
from portfolios.matchers.protocol import Prediction


@dataclass(frozen=True, eq=False)
class CostScale:
    """Dollars on [0, 1]: min–max over the training edges."""

    low: float
    high: float

    @classmethod
    def of(cls, costs: Floats | None) -> CostScale | None:
        """None when no cost is known."""
        if costs is None or np.isnan(costs).all():
            return None
        return cls(float(np.nanmin(costs)), float(np.nanmax(costs)))

    def scaled(self, costs: Floats) -> Floats:
        """In [0, 1]; an unknown cost counts as the dearest."""
        share = np.nan_to_num((costs - self.low) / max(self.high - self.low, 1e-12), nan=1.0)
        return np.asarray(np.clip(share, 0.0, 1.0), np.float64)


def values_of(prediction: Prediction, cost_weight: float, scale: CostScale | None) -> Floats:
    """(1 − λ)·score + λ·(1 − scaled cost), −inf for a member without training edges."""
    score = np.where(np.isnan(prediction.score), -np.inf, prediction.score)
    if cost_weight == 0.0 or prediction.cost is None or scale is None:
        return score
    return np.asarray((1.0 - cost_weight) * score + cost_weight * (1.0 - scale.scaled(prediction.cost)), np.float64)


@dataclass(frozen=True, eq=False)
class Advantage:
    """For each query the best rival of the default (its column), its advantage in value and the deviation of that."""

    rival: NDArray[np.int64]
    margin: Floats
    sd: Floats

    def chosen(self, default: int, margin: float) -> NDArray[np.int64]:
        """Columns: the rival where its advantage is positive and exceeds `margin` deviations, else the default."""
        worth = (self.margin > 0) & (self.margin > margin * self.sd)
        return np.where(worth, self.rival, default)


def advantages(prediction: Prediction, values: Floats, default: int, cost_weight: float) -> Advantage:
    """The best rival of each query; the lower column wins a tie. −inf where there is no rival."""
    rivals = np.round(values, 9)
    rivals[:, default] = -np.inf
    best = np.argmax(rivals, axis=1)
    rows = np.arange(len(values))
    margin = np.where(np.isfinite(rivals[rows, best]), values[rows, best] - values[:, default], -np.inf)
    a, b = prediction.sd[rows, best], prediction.sd[:, default]
    shared = prediction.correlation[best, default]
    variance = np.maximum(a * a + b * b - 2.0 * shared * a * b, 0.0)
    return Advantage(best, margin, (1.0 - cost_weight) * np.sqrt(variance))
