"""Rows of Euclidean length 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def unit_rows(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each row divided by its length; rows of zeros, or of anything not finite, become zeros."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    usable = np.isfinite(lengths) & (lengths > 0)
    return np.where(usable, rows / np.where(usable, lengths, 1.0), 0.0).astype(np.float32)
