"""Maximum coverage over a pool: exact search in lexicographic order, and lazy greedy for pools too large for it."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from portfolios.edges import Floats

Columns = tuple[int, ...]
_DIGITS = 6
"""Totals that agree to this many decimals are ties, so that the order of summation cannot decide."""


@dataclass(frozen=True, eq=False)
class Pool:
    """A complete score table (candidates, cases) and the candidates that every set must hold."""

    table: Floats
    required: Columns = ()

    @classmethod
    def of(cls, scores: Floats, required: Columns = ()) -> Pool:
        """From scores (cases, candidates); missing scores count 0."""
        return cls(np.ascontiguousarray(np.nan_to_num(scores, nan=0.0).T), tuple(sorted(set(required))))

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return len(self.table)

    @property
    def cases(self) -> int:
        """How many cases there are."""
        return int(self.table.shape[1])

    @cached_property
    def optional(self) -> Columns:
        """The candidates that are not required, in order."""
        return tuple(j for j in range(self.size) if j not in self.required)

    @cached_property
    def floor(self) -> Floats:
        """What the required members reach on each case."""
        return self.best(self.required)

    @cached_property
    def pearson(self) -> Floats:
        """Correlation of the candidates' score vectors; 0 where it is undefined (a constant vector)."""
        centred = self.table - self.table.mean(axis=1, keepdims=True)
        norms = np.sqrt((centred**2).sum(axis=1))
        safe = np.where(norms > 1e-12, norms, 1.0)
        unit = np.where(norms[:, None] > 1e-12, centred / safe[:, None], 0.0)
        return np.asarray(unit @ unit.T, np.float64)

    def best(self, columns: Sequence[int]) -> Floats:
        """The best score on each case among `columns`, 0 for none."""
        return self.table[list(columns)].max(axis=0) if columns else np.zeros(self.cases)

    def covered(self, columns: Sequence[int]) -> float:
        """The sum over cases of the best score."""
        return float(self.best(columns).sum())

    def correlation(self, columns: Sequence[int]) -> float:
        """Mean pairwise Pearson correlation, 0 for a single member."""
        return float(self.correlations(np.array([sorted(columns)]))[0])

    def correlations(self, sets: NDArray[np.int64]) -> Floats:
        """`correlation` of each row of `sets` (sets, k)."""
        size = sets.shape[1]
        if size < 2:
            return np.zeros(len(sets))
        pairs = [self.pearson[sets[:, a], sets[:, b]] for a, b in combinations(range(size), 2)]
        return np.asarray(np.mean(pairs, axis=0), np.float64)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The winning columns and, after an exact search, how many other sets cover as much."""

    columns: Columns
    ties: int | None


def subsets_of(pool: Pool, size: int) -> int:
    """How many sets of `size` hold all required members."""
    return math.comb(len(pool.optional), size - len(pool.required))


def choose_exact(pool: Pool, size: int) -> Chosen:
    """The best of all sets of `size`, visited in lexicographic order; ties by correlation, then by that order."""
    if size == len(pool.required):
        return Chosen(pool.required, 0)
    best, count, winner, lowest = -math.inf, 0, pool.required, math.inf
    for sets, totals in _batches(pool, size - len(pool.required)):
        rounded = np.round(totals, _DIGITS)
        top = float(rounded.max())
        if top < best:
            continue
        if top > best:
            best, count, lowest = top, 0, math.inf
        tied = sets[rounded == top]
        count += len(tied)
        correlations = np.round(pool.correlations(_with_required(pool, tied)), 12)
        first = int(np.argmin(correlations))
        if correlations[first] < lowest:
            lowest, winner = float(correlations[first]), tuple(int(j) for j in tied[first])
    return Chosen(tuple(sorted(set(winner) | set(pool.required))), count - 1)


def choose_greedy(pool: Pool, size: int) -> Chosen:
    """Adds the largest gain each time, re-measuring a candidate only while it could still win (Minoux 1978)."""
    chosen, reached = list(pool.required), pool.floor
    heap = [(-math.inf, j) for j in pool.optional]
    while len(chosen) < size and heap:
        fresh: list[tuple[float, int]] = []
        while heap and (not fresh or -heap[0][0] >= fresh[0][0]):
            _, j = heapq.heappop(heap)
            gain = round(float(np.maximum(pool.table[j] - reached, 0.0).sum()), _DIGITS)
            fresh.append((gain, j))
            fresh.sort(key=lambda item: (-item[0], item[1]))
        tied = [j for gain, j in fresh if gain == fresh[0][0]]
        winner = min(tied, key=lambda j: (round(pool.correlation([*chosen, j]), 12), j))
        for gain, j in fresh:
            if j != winner:
                heapq.heappush(heap, (-gain, j))
        chosen.append(winner)
        reached = np.maximum(reached, pool.table[winner])
    return Chosen(tuple(sorted(chosen)), None)


def _with_required(pool: Pool, sets: NDArray[np.int64]) -> NDArray[np.int64]:
    fixed = np.tile(np.array(pool.required, np.int64), (len(sets), 1))
    return np.sort(np.concatenate([fixed, sets], axis=1), axis=1)


def _batches(pool: Pool, free: int) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """All sets of `free` >= 1 optional candidates with their totals, in lexicographic order, a batch per leading part.

    The last two places are filled from a table of pair maxima: pairs whose first element comes after the leading
    part are a suffix of it, so each batch is one vectorised maximum.
    """
    optional = np.array(pool.optional, np.int64)
    table = pool.table[optional]
    tail_size = min(free, 2)
    tails = np.array(list(combinations(range(len(optional)), tail_size)), np.int64)
    peaks = table[tails].max(axis=1)
    starts = np.searchsorted(tails[:, 0], np.arange(len(optional) + 1))
    for lead in combinations(range(len(optional)), free - tail_size):
        start = int(starts[lead[-1] + 1]) if lead else 0
        if start == len(tails):
            continue
        reached = np.maximum(pool.floor, table[list(lead)].max(axis=0)) if lead else pool.floor
        totals = np.maximum(peaks[start:], reached).sum(axis=1)
        sets = np.concatenate([np.tile(np.array(lead, np.int64), (len(tails) - start, 1)), tails[start:]], axis=1)
        yield optional[sets], totals
