"""One round of one loop on one parent: what the proposers of both kinds start from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from evolve.campaign.config import LoopSettings
from evolve.campaign.loops.workflow.pool import Pool
from evolve.core.scores import Scorecard

HARNESS_ENTRIES = ("demonstrations", "plain_demonstrations", "constrained")
WORKFLOW_ENTRIES = ("nearest", "calculator", "labels", "tools", "spans", "self_consistency", "retry")
"""Which catalog entries a loop draws from: the harness loop keeps the graph, the workflow loop changes it."""


@dataclass(frozen=True)
class RoundPlan:
    """One round of one loop, on one parent."""

    loop: str
    number: int
    settings: LoopSettings
    parent: str
    parent_card: Scorecard
    pool: Pool | None = None
    """what the parent was drawn from; None in first rounds and in the harness loop"""

    @property
    def entries(self) -> tuple[str, ...]:
        """The catalog entries of this loop, of those the campaign file allows."""
        own = HARNESS_ENTRIES if self.loop == "harness" else WORKFLOW_ENTRIES
        return own if self.settings.entries is None else self.settings.entries

    @cached_property
    def failing(self) -> frozenset[str]:
        """Train cases on which the parent scores below 1; with a pool, those on which everybody in it does."""
        if self.pool is not None and self.pool.uncovered:
            return self.pool.uncovered & frozenset(self.parent_card.by_case)
        means = {case_id: self.parent_card.case_mean(case_id) for case_id in self.parent_card.by_case}
        return frozenset(case_id for case_id, mean in means.items() if mean is not None and mean < 1.0)
