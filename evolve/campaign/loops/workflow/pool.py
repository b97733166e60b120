"""The pool of the workflow loop: the seed and what was accepted, all measured on the same train cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evolve.campaign.context import CampaignContext
from evolve.campaign.measure import measure
from evolve.campaign.state import CampaignState
from evolve.core.cases import Case, Split
from evolve.core.scores import Scorecard
from workflows.diversify import Coverage, Floats, coverage, covered


@dataclass(frozen=True)
class Pool:
    """Trees, the seed first, with their scorecards on the fit cases. Cases that a tree shows are missing for it."""

    trees: tuple[str, ...]
    cards: tuple[Scorecard, ...]
    cases: tuple[Case, ...]

    @cached_property
    def scores(self) -> Floats:
        """e: (trees, cases) in [0, 1], NaN where missing."""
        means = [[card.case_mean(case.id) for case in self.cases] for card in self.cards]
        return np.array([[np.nan if m is None else m for m in row] for row in means], np.float64)

    @property
    def coverage(self) -> Coverage:
        """How many cases are solved by nobody, by few and by many."""
        return coverage(self.scores)

    def first(self, count: int) -> Floats:
        """The best score of each case among the first `count` trees."""
        return covered(self.scores[:count])

    @cached_property
    def uncovered(self) -> frozenset[str]:
        """Cases on which no tree reaches the full score."""
        return frozenset(case.id for case, best in zip(self.cases, covered(self.scores), strict=True) if best < 1.0)


async def measure_pool(context: CampaignContext, state: CampaignState, loop: str) -> Pool:
    """The seed and the accepted trees in the order they were accepted, at most as many as the screen would measure.

    The screen finds these results again: nothing is paid twice.
    """
    trees = pool_trees(context, state.get("accepted", []))
    cards = [await measure(context, tree, Split.TRAIN, loop) for tree in trees]
    return Pool(trees, tuple(cards), context.material.train.fit)


def pool_trees(context: CampaignContext, accepted: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """The seed and the best accepted trees by gain, as many as the screen takes, in the order of acceptance."""
    most = 2 * context.config.portfolio.max_members
    best = sorted(accepted, key=lambda row: (-row["gain"], row["tree"]))[:most]
    kept = {row["tree"] for row in best}
    return (context.material.seed_tree, *dict.fromkeys(row["tree"] for row in accepted if row["tree"] in kept))
