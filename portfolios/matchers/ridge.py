"""Ridge regression of many columns with missing entries: one decomposition, penalty by leave-one-out error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from portfolios.edges import Floats
from portfolios.matchers.columns import columns_by_presence, error_correlation, noise_variance

_PENALTIES = np.append(np.logspace(-1.0, 5.0, 25), np.inf)
_FEWEST = 4


@dataclass(frozen=True, eq=False)
class RidgeTable:
    """Fits of all columns of one table, their leave-one-out errors (n, m) and the correlation of these."""

    width: int
    groups: tuple[RidgeGroup, ...]
    residuals: Floats
    correlation: Floats

    @classmethod
    def fit(cls, design: Floats, table: Floats) -> RidgeTable:
        """`design` (n, p), `table` (n, m) with NaN where missing; columns with the same rows share one penalty."""
        residuals = np.full(table.shape, np.nan)
        groups = []
        for rows, columns in columns_by_presence(table):
            group, errors = RidgeGroup.fit(design[rows], table[np.ix_(rows, columns)], columns)
            residuals[np.ix_(rows, columns)] = errors
            groups.append(group)
        return cls(table.shape[1], tuple(groups), residuals, error_correlation(residuals))

    def predict(self, design: Floats) -> tuple[Floats, Floats]:
        """Means and standard deviations (q, m); NaN for a column that had no entries."""
        mean = np.full((len(design), self.width), np.nan)
        sd = np.full((len(design), self.width), np.nan)
        for group in self.groups:
            mean[:, group.columns], sd[:, group.columns] = group.predict(design)
        return mean, sd


@dataclass(frozen=True, eq=False)
class RidgeGroup:
    """One decomposition X = U S Vᵀ (centred) with the coefficients, in its basis, of the columns that share it."""

    columns: NDArray[np.int64]
    rows: int
    centre: Floats
    basis: Floats
    squares: Floats
    penalty: float
    intercepts: Floats
    coefficients: Floats
    variance: Floats

    @classmethod
    def fit(cls, design: Floats, targets: Floats, columns: NDArray[np.int64]) -> tuple[RidgeGroup, Floats]:
        """The group and its leave-one-out errors (n, columns)."""
        centre, intercepts = design.mean(axis=0), targets.mean(axis=0)
        left, singular, right = _decompose(design - centre)
        projected = left.T @ (targets - intercepts)
        candidates = _PENALTIES if len(design) >= _FEWEST else _PENALTIES[-1:]
        errors = [_left_out_errors(left, singular, projected, targets - intercepts, p) for p in candidates]
        chosen = int(np.argmin([round(float((e**2).mean()), 12) for e in errors]))
        penalty = float(candidates[chosen])
        coefficients = (singular / (singular**2 + penalty))[:, None] * projected
        noise = noise_variance(errors[chosen])
        group = cls(columns, len(design), centre, right, singular**2, penalty, intercepts, coefficients, noise)
        return group, errors[chosen]

    def predict(self, design: Floats) -> tuple[Floats, Floats]:
        """Means and posterior standard deviations of the mean (a Gaussian prior of variance noise / penalty)."""
        centred = design - self.centre
        inside = centred @ self.basis.T
        outside = np.maximum((centred**2).sum(axis=1) - (inside**2).sum(axis=1), 0.0)
        leverage = 1.0 / self.rows + (inside**2 / (self.squares + self.penalty)).sum(axis=1) + outside / self.penalty
        return self.intercepts + inside @ self.coefficients, np.sqrt(leverage[:, None] * self.variance)


def _decompose(centred: Floats) -> tuple[Floats, Floats, Floats]:
    """X = U S Vᵀ without the directions in which X does not vary; by way of XᵀX where that is much smaller."""
    if len(centred) < 2 * centred.shape[1]:
        left, singular, right = np.linalg.svd(centred, full_matrices=False)
        kept = singular > 1e-9 * max(float(singular.max(initial=0.0)), 1e-12)
        return left[:, kept], singular[kept], right[kept]
    squares, vectors = np.linalg.eigh(centred.T @ centred)
    kept = squares > 1e-12 * max(float(squares.max(initial=0.0)), 1e-12)
    singular, right = np.sqrt(squares[kept]), vectors[:, kept].T
    return (centred @ right.T) / singular, singular, right


def _left_out_errors(left: Floats, singular: Floats, projected: Floats, centred: Floats, penalty: float) -> Floats:
    """Errors on each row of the fit without it, by the hat matrix: residual / (1 − leverage)."""
    shrink = singular**2 / (singular**2 + penalty)
    fitted = left @ (shrink[:, None] * projected)
    leverage = 1.0 / len(left) + (left**2) @ shrink
    return np.asarray((centred - fitted) / np.maximum(1.0 - leverage, 1e-6)[:, None], np.float64)
