"""Paired acceptance: a proposal is tried on train cases it names until its gain is shown, or is not worth more runs."""

from __future__ import annotations

from typing import Any

from evolve.campaign.context import CampaignContext
from evolve.campaign.fitset import spread
from evolve.campaign.loops.plan import RoundPlan
from evolve.campaign.measure import measure_cases, shown_ids, without
from evolve.core.cases import Case, Split, by_unit
from evolve.core.scores import Scorecard
from evolve.evaluate.compare import PairedAcceptance
from evolve.evaluate.units import pair_units
from harnesses.proposal import Proposal

CHUNK = 4
"""Cases tried between two looks."""


async def try_proposal(context: CampaignContext, plan: RoundPlan, proposal: Proposal, tree: str) -> dict[str, Any]:
    """Runs the proposal on at most `batch` cases of its target, paired with its parent, looking after every CHUNK.

    The test is one-sided and sequential at `accept_alpha` for this proposal alone: it keeps noise from crowding the
    screen and promises nothing about promotion, which is the gate's.
    """
    batch = _batch(context, plan, proposal, tree)
    test = PairedAcceptance(alpha=plan.settings.accept_alpha, horizon=max(1, len(batch)))
    results: dict[tuple[str, int], Any] = {}
    done = 0
    while done < len(batch) and not test.decided:
        chunk = tuple(batch[done : done + CHUNK])
        card = await measure_cases(context, tree, chunk, Split.TRAIN, plan.loop)
        results.update(card.results)
        parent = Scorecard(plan.parent, {k: v for k, v in plan.parent_card.results.items() if k in card.results})
        test.observe_many(pair_units(chunk, parent, card))
        done += len(chunk)
    outcome = test.outcome()
    return {
        "accepted": outcome.accepted,
        "gain": outcome.gain,
        "units": outcome.units,
        "cases": done,
        "mean": Scorecard(tree, results).mean(),
        "reason": outcome.reason,
    }


def _batch(context: CampaignContext, plan: RoundPlan, proposal: Proposal, tree: str) -> list[Case]:
    """The target's fit cases (all when the target is not narrowed) that the tree has not seen, one per unit first."""
    target = proposal.hypothesis.target_case_ids
    cases = without(context.material.train.fit, shown_ids(context, tree))
    wanted = [c for c in cases if not target or c.id in target]
    return spread(list(by_unit(wanted).values()))[: plan.settings.batch]
