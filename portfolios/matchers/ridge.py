"""Ridge regression of many columns with missing entries: one decomposition, penalty by leave-one-out error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from portfolios.edges import Floats
from portfolios.matchers.basis import Basis, Coordinates, Decomposed, Features, Rows
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
    def fit(cls, features: Features, table: Floats) -> RidgeTable:
        """`table` (n, m) with NaN where missing; columns with the same rows share one penalty."""
        residuals = np.full(table.shape, np.nan)
        groups = []
        for rows, columns in columns_by_presence(table):
            complete = len(rows) == len(table)
            decomposed = features.decomposed if complete else Decomposed.of(features.matrix[rows])
            group, errors = RidgeGroup.fit(decomposed, table[np.ix_(rows, columns)], columns)
            residuals[np.ix_(rows, columns)] = errors
            groups.append(group)
        return cls(table.shape[1], tuple(groups), residuals, error_correlation(residuals))

    def mean(self, rows: Rows) -> Floats:
        """Expectations (q, m); NaN for a column that had no entries."""
        found = np.full((len(rows.matrix), self.width), np.nan)
        for group in self.groups:
            found[:, group.columns] = group.mean(rows.coordinates(group.basis))
        return found

    def sd(self, rows: Rows) -> Floats:
        """Standard deviations of the expectations (q, m); NaN for a column that had no entries."""
        found = np.full((len(rows.matrix), self.width), np.nan)
        for group in self.groups:
            found[:, group.columns] = group.sd(rows.coordinates(group.basis))
        return found


@dataclass(frozen=True, eq=False)
class RidgeGroup:
    """The coefficients, in one basis, of the columns that share their rows."""

    columns: NDArray[np.int64]
    basis: Basis
    penalty: float
    intercepts: Floats
    coefficients: Floats
    variance: Floats

    @classmethod
    def fit(cls, decomposed: Decomposed, targets: Floats, columns: NDArray[np.int64]) -> tuple[RidgeGroup, Floats]:
        """The group and its leave-one-out errors (n, columns)."""
        left, squares = decomposed.left, decomposed.basis.squares
        intercepts = targets.mean(axis=0)
        centred = targets - intercepts
        projected, leverages = left.T @ centred, left**2
        candidates = _PENALTIES if len(left) >= _FEWEST else _PENALTIES[-1:]
        losses = [
            round(float((_left_out_errors(left, leverages, squares, projected, centred, p) ** 2).mean()), 12)
            for p in candidates
        ]
        penalty = float(candidates[int(np.argmin(losses))])
        errors = _left_out_errors(left, leverages, squares, projected, centred, penalty)
        coefficients = (np.sqrt(squares) / (squares + penalty))[:, None] * projected
        return cls(columns, decomposed.basis, penalty, intercepts, coefficients, noise_variance(errors)), errors

    def mean(self, where: Coordinates) -> Floats:
        """Expectations (q, columns)."""
        return self.intercepts + where.inside @ self.coefficients

    def sd(self, where: Coordinates) -> Floats:
        """Posterior standard deviations of the expectations (a Gaussian prior of variance noise / penalty)."""
        inside = (where.inside**2) @ (1.0 / (self.basis.squares + self.penalty))
        leverage = 1.0 / self.basis.rows + inside + where.outside / self.penalty
        return np.sqrt(leverage[:, None] * self.variance)


def _left_out_errors(
    left: Floats, leverages: Floats, squares: Floats, projected: Floats, centred: Floats, penalty: float
) -> Floats:
    """Errors on each row of the fit without it, by the hat matrix: residual / (1 − leverage)."""
    shrink = squares / (squares + penalty)
    fitted = left @ (shrink[:, None] * projected)
    leverage = 1.0 / len(left) + leverages @ shrink
    return np.asarray((centred - fitted) / np.maximum(1.0 - leverage, 1e-6)[:, None], np.float64)
