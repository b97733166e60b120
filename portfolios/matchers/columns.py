"""Per-member statistics that every matcher shares: means, noise and how errors move together, with missing edges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from portfolios.edges import Floats

_PRIOR_CASES = 2.0
_PRIOR_VARIANCE = 0.25


def column_means(table: Floats) -> Floats:
    """Mean of the present entries of each column; NaN for a column that has none."""
    present = ~np.isnan(table)
    count = present.sum(axis=0)
    total = np.where(present, table, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def noise_variance(residuals: Floats) -> Floats:
    """Variance of each column of residuals, drawn to that of a fair coin by two imagined cases.

    Without them two equal scores would look like certainty.
    """
    present = ~np.isnan(residuals)
    squares = np.where(present, residuals, 0.0) ** 2
    total = squares.sum(axis=0) + _PRIOR_CASES * _PRIOR_VARIANCE
    return np.asarray(total / (present.sum(axis=0) + _PRIOR_CASES), np.float64)


def error_correlation(residuals: Floats) -> Floats:
    """Correlation (m, m) of residual columns over the rows that both have, drawn to 0 by ten imagined rows."""
    present = (~np.isnan(residuals)).astype(np.float64)
    filled = np.where(np.isnan(residuals), 0.0, residuals)
    shared = present.T @ present
    products = filled.T @ filled
    squares = (filled**2).T @ present
    scale = np.sqrt(squares * squares.T)
    correlation = np.where(scale > 1e-12, products / np.maximum(scale, 1e-12), 0.0) * shared / (shared + 10.0)
    correlation = np.clip(correlation, -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    return correlation


def columns_by_presence(table: Floats) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Groups (rows, columns) of columns that are present in the same rows; columns without entries are left out."""
    present = ~np.isnan(table)
    groups: dict[bytes, list[int]] = {}
    for column in range(table.shape[1]):
        groups.setdefault(present[:, column].tobytes(), []).append(column)
    for columns in groups.values():
        rows = np.flatnonzero(present[:, columns[0]])
        if len(rows):
            yield rows, np.array(columns, np.int64)
