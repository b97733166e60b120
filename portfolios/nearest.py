"""Nearest known queries by cosine similarity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from portfolios.edges import Floats, Vectors

_DIGITS = 5
_BATCH = 512


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Rows of the known queries (q, k) and their cosine similarities (q, k), nearest first."""

    rows: NDArray[np.int64]
    similarities: Floats


def find_nearest(known: Vectors, embeddings: Vectors, k: int, *, skip_self: bool = False) -> Neighbours:
    """The `k` nearest rows of `known` (fewer when there are fewer); ties go to the lower row.

    `skip_self` is for asking with the known queries themselves: each is left out of its own answer.
    """
    k = max(0, min(k, len(known) - skip_self))
    rows = np.zeros((len(embeddings), k), np.int64)
    similarities = np.zeros((len(embeddings), k), np.float64)
    for start in range(0, len(embeddings) if k else 0, _BATCH):
        block = slice(start, start + _BATCH)
        cosine = np.asarray(np.round(embeddings[block] @ known.T, _DIGITS), np.float64)
        if skip_self:
            cosine[np.arange(len(cosine)), np.arange(start, start + len(cosine))] = -np.inf
        order = np.argmax(cosine, axis=1)[:, None] if k == 1 else _top(cosine, k)
        rows[block] = order
        similarities[block] = np.take_along_axis(cosine, order, axis=1)
    return Neighbours(rows, similarities)


def _top(cosine: Floats, k: int) -> NDArray[np.int64]:
    """The columns of the `k` largest entries of each row, largest first; equal ones in column order."""
    if k >= cosine.shape[1] // 4:
        return np.argsort(-cosine, axis=1, kind="stable")[:, :k]
    least = -np.partition(-cosine, k - 1, axis=1)[:, k - 1]
    order = np.empty((len(cosine), k), np.int64)
    for row, (values, limit) in enumerate(zip(cosine, least, strict=True)):
        candidates = np.flatnonzero(values >= limit)
        order[row] = candidates[np.argsort(-values[candidates], kind="stable")[:k]]
    return order
