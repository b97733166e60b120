"""Which workflow to improve next: weights that favour what the others cannot do (the search of FlowBank's DiverseFlow).

Scores come as a table e (workflows, queries) in [0, 1], NaN where a workflow was not measured on a query.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EXPLORE = 0.3
"""ρ: the share of the draw that is even over all workflows."""
GREED = 0.2
"""α: how sharply the rest favours high weights, which lie between 0 and about 100."""
SOLVED = 0.5
"""A score from here on counts as solving a query."""
FEW = 3


def need(scores: Floats) -> Floats:
    """μ̄(q): 1 / (1 + Σ e(ω, q)), scaled so that its mean is 1. High where nobody solves the query."""
    raw = 1.0 / (1.0 + np.nan_to_num(scores, nan=0.0).sum(axis=0))
    return np.asarray(raw / raw.mean(), np.float64)


def weights(scores: Floats, *, complementary: bool) -> Floats:
    """η(ω): 100 times the mean score over measured queries, each query counting by its need if `complementary`.

    With equal needs both are the same. A workflow that was measured on no query weighs 0.
    """
    present = ~np.isnan(scores)
    counts = need(scores) if complementary else np.ones(scores.shape[1])
    behind = present @ counts
    reached = np.where(present, np.nan_to_num(scores, nan=0.0), 0.0) @ counts
    return np.asarray(100.0 * np.where(behind > 0, reached / np.maximum(behind, 1e-12), 0.0), np.float64)


def parent_chances(eta: Floats, *, explore: float = EXPLORE, greed: float = GREED) -> Floats:
    """P(ω) = ρ/n + (1 − ρ)·softmax(α·(η − max η)); everybody has a chance, the seed included."""
    pull = np.exp(greed * (eta - eta.max()))
    return np.asarray(explore / len(eta) + (1.0 - explore) * pull / pull.sum(), np.float64)


def draw(chances: Floats, seed: int) -> int:
    """An index drawn by the chances; the same for the same seed."""
    return int(np.random.default_rng(seed).choice(len(chances), p=chances / chances.sum()))


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many queries are solved by nobody, by 1 to 3 and by more workflows; `least` are those that fewest solve."""

    nobody: int
    few: int
    many: int
    least: tuple[int, ...]

    def words(self) -> str:
        """For a proposer."""
        return f"{self.nobody} cases are solved by no workflow so far, {self.few} by 1 to {FEW}, {self.many} by more"


def coverage(scores: Floats, shown: int = 5) -> Coverage:
    """Counts over the measured workflows; the least covered queries first, ties in the order of the table."""
    solvers = (np.nan_to_num(scores, nan=0.0) >= SOLVED).sum(axis=0)
    reached = np.nan_to_num(scores, nan=0.0).sum(axis=0)
    order = np.argsort(np.round(reached, 9), kind="stable")
    least = tuple(int(q) for q in order[:shown] if solvers[q] <= FEW)
    nobody, many = int((solvers == 0).sum()), int((solvers > FEW).sum())
    return Coverage(nobody, len(solvers) - nobody - many, many, least)


def covered(scores: Floats) -> Floats:
    """The best score of each query (q,), 0 without any."""
    return np.asarray(np.nan_to_num(scores, nan=0.0).max(axis=0, initial=0.0), np.float64)


def marginal_coverage(scores: Floats, chosen: Sequence[int], candidate: int) -> float:
    """What the candidate adds to the mean best score of the chosen ones."""
    before = covered(scores[list(chosen)])
    return float((covered(scores[[*chosen, candidate]]) - before).mean()) if scores.shape[1] else 0.0


def share_bound(hits: int, tries: int, level: float) -> float:
    """Exact upper bound of a share after `hits` in `tries` (Clopper & Pearson 1934): wrong with a chance of `level`."""
    if hits >= tries:
        return 1.0
    low, high = hits / tries, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_most(hits, tries, middle) > level else (low, middle)
    return high


def _at_most(hits: int, tries: int, share: float) -> float:
    """Chance of at most `hits` in `tries`."""
    return sum(math.comb(tries, k) * share**k * (1.0 - share) ** (tries - k) for k in range(hits + 1))
