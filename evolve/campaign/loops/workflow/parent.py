"""Drawing the parent of a round: by plain weights while warming up, then by what the pool still lacks."""

from __future__ import annotations

from evolve.campaign.config import WorkflowLoopSettings
from evolve.campaign.context import CampaignContext
from evolve.campaign.loops.workflow.pool import Pool
from evolve.core.hashing import derive_seed
from workflows.diversify import draw, parent_chances, weights


def draw_parent(context: CampaignContext, settings: WorkflowLoopSettings, number: int, pool: Pool) -> str:
    """The tree to improve in round `number` (from 0); the ledger says by which weights it was drawn."""
    complementary = settings.diversity == "complementarity" and number >= settings.warm_up_rounds
    eta = weights(pool.scores, complementary=complementary)
    chances = parent_chances(eta, explore=settings.explore, greed=settings.greed)
    parent = pool.trees[draw(chances, derive_seed(context.config.seed, "parent", "workflow", number))]
    found = pool.coverage
    row = {
        "round": ["workflow", number],
        "phase": "complementarity" if complementary else "plain",
        "weights": {tree: round(float(w), 3) for tree, w in zip(pool.trees, eta, strict=True)},
        "chances": {tree: round(float(p), 4) for tree, p in zip(pool.trees, chances, strict=True)},
        "solved_by": {"nobody": found.nobody, "few": found.few, "many": found.many},
    }
    context.record("parent", parent, row, key=f"parent/workflow/{number}")
    return parent
