"""Small worlds with a known best router: topics that look different, and members that each master one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from portfolios.choose import GuardResult
from portfolios.edges import Edges, Query

BuildWorld = Callable[..., Edges]

TOPICS = (
    "what is the sum of {} and {} apples",
    "please translate sentence {} of letter {} now",
    "def f{}(): return {}",
)


@pytest.fixture
def topic_edges() -> BuildWorld:
    """Builds edges: query i is about topic i mod 3; "tree-j" solves topic j with `skill`, others with `rest`."""

    def build(rows: int, *, seed: int = 0, skill: float = 0.95, rest: float = 0.3, members: int = 3) -> Edges:
        rng = np.random.default_rng(seed)
        topic = np.arange(rows) % 3
        centres = np.eye(3, 8)
        vectors = centres[topic] + 0.15 * rng.normal(size=(rows, 8))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        chance = np.where(topic[:, None] == np.arange(members)[None, :], skill, rest)
        scores = (rng.random((rows, members)) < chance).astype(float)
        queries = tuple(
            Query(f"c{seed}-{i}", TOPICS[topic[i]].format(i, seed), f"f{seed}-{i:04d}", f"case:c{seed}-{i}")
            for i in range(rows)
        )
        return Edges(queries, tuple(f"tree-{j}" for j in range(members)), vectors.astype(np.float32), scores).in_order()

    return build


@pytest.fixture
def normal_guard() -> Callable[[Sequence[float], Sequence[float], Sequence[str]], GuardResult]:
    """A one-sided 5 % test of the mean paired difference by the normal approximation."""

    def guard(routed: Sequence[float], single: Sequence[float], units: Sequence[str]) -> GuardResult:
        assert len(routed) == len(single) == len(units)
        differences = np.array(routed) - np.array(single)
        low = differences.mean() - 1.645 * differences.std(ddof=1) / np.sqrt(len(differences))
        return GuardResult(bool(low > 0), float(differences.mean()), float(low), f"lower bound {low:.3f}")

    return guard
