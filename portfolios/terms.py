"""Terms: which words and word pairs a text has, weighed by rarity and folded into a few dimensions."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from portfolios.edges import Floats

BUCKETS = 4096
_TOKEN = re.compile(r"\w+|[^\w\s]")
_MOST_TOKENS = 600
_EXTRA = 10


@dataclass(frozen=True, eq=False)
class Terms:
    """Hashed term frequencies (log), weighed by inverse document frequency, projected on their leading directions.

    `weights` (BUCKETS,) and `basis` (BUCKETS, rank) come from the training texts; a text has a row of length at most 1.
    """

    weights: Floats
    basis: Floats

    @classmethod
    def of(cls, texts: Sequence[str], rank: int) -> Terms:
        """From training texts, by a randomised decomposition with a fixed start (Halko, Martinsson & Tropp 2011)."""
        counts = np.zeros((len(texts), BUCKETS), np.float32)
        for row, text in enumerate(texts):
            buckets, values = _buckets(text)
            counts[row, buckets] = values
        seen = (counts > 0).sum(axis=0)
        weights = np.log((1.0 + len(texts)) / (1.0 + seen)) + 1.0
        table = counts * weights.astype(np.float32)
        table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)
        return cls(weights, _leading(table, rank))

    def apply(self, texts: Sequence[str]) -> Floats:
        """Shape (len(texts), rank); zero rows for texts without a term."""
        return np.array([self._row(text) for text in texts], np.float64).reshape(len(texts), self.basis.shape[1])

    def _row(self, text: str) -> Floats:
        buckets, values = _buckets(text)
        weighed = values * self.weights[buckets]
        length = float(np.sqrt((weighed**2).sum()))
        return np.asarray(weighed @ self.basis[buckets] / max(length, 1e-9), np.float64)


def _buckets(text: str) -> tuple[NDArray[np.int64], Floats]:
    """The buckets of a text's words and neighbouring pairs, and log(1 + how often) for each."""
    words = _TOKEN.findall(text.casefold())[:_MOST_TOKENS]
    pairs = [f"{a} {b}" for a, b in pairwise(words)]
    hashes = [zlib.crc32(term.encode("utf-8", "surrogatepass")) % BUCKETS for term in (*words, *pairs)]
    counts = Counter(hashes)
    return np.fromiter(counts, np.int64, len(counts)), np.log1p(np.fromiter(counts.values(), np.float64, len(counts)))


def _leading(table: Floats, rank: int) -> Floats:
    """The `rank` leading right directions of `table`, fewer when it has fewer."""
    rank = min(rank, *table.shape)
    start = np.random.default_rng(0).standard_normal((table.shape[1], rank + _EXTRA)).astype(table.dtype)
    directions, _ = np.linalg.qr(table.T @ (table @ start))
    directions, _ = np.linalg.qr(table.T @ (table @ directions))
    _, _, right = np.linalg.svd(table @ directions, full_matrices=False)
    return np.asarray(directions @ right[:rank].T, np.float64)
