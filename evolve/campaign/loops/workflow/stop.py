"""Stopping early: when two rounds show that a further one lifts too few cases to be worth its price."""

from __future__ import annotations

from evolve.campaign.config import WorkflowLoopSettings
from evolve.campaign.context import CampaignContext
from evolve.campaign.loops.workflow.pool import Pool, pool_trees
from evolve.campaign.state import CampaignState
from workflows.diversify import share_bound

LEVEL = 0.1
ROUNDS = 2
"""How many rounds are looked back on."""


def why_stop(
    context: CampaignContext, state: CampaignState, settings: WorkflowLoopSettings, number: int, pool: Pool
) -> str:
    """Why no further workflow round is worth it after `number` rounds, in words; empty when one is.

    Tested: the share of cases whose best score the last two rounds raised, by an exact upper bound at level 0.1. Units
    count once. Never before two rounds after the warm-up.
    """
    if settings.early_stop is None or number < settings.warm_up_rounds + ROUNDS:
        return ""
    earlier = [row for row in state.get("accepted", []) if tuple(row["round"]) < ("workflow", number - ROUNDS)]
    before = len([tree for tree in pool.trees if tree in set(pool_trees(context, earlier))])
    then, now = pool.first(before), pool.first(len(pool.trees))
    raised = {case.unit for case, a, b in zip(pool.cases, then, now, strict=True) if b > a + 1e-9}
    units = {case.unit for case in pool.cases}
    bound = share_bound(len(raised), len(units), LEVEL)
    if bound >= settings.early_stop:
        return ""
    reason = (
        f"the last {ROUNDS} workflow rounds raised the best score of {len(raised)} of {len(units)} units: a further "
        f"one raises at most {100 * bound:.1f} % (level {LEVEL:g}), below early_stop {100 * settings.early_stop:g} %"
    )
    context.record("early_stop", "workflow", {"reason": reason, "round": number}, key="early_stop/workflow")
    context.observe("note", text=reason)
    return reason
