"""One round of an inner loop: propose, check for free, try on a mini-batch of train, accept or not."""

from __future__ import annotations

from typing import Any

from evolve.campaign.config import CampaignConfig
from evolve.campaign.context import CampaignContext
from evolve.campaign.loops.accept import try_proposal
from evolve.campaign.loops.candidates import propose
from evolve.campaign.loops.plan import RoundPlan
from evolve.campaign.loops.sieve import Refused
from evolve.campaign.loops.workflow.parent import draw_parent
from evolve.campaign.loops.workflow.pool import measure_pool
from evolve.campaign.loops.workflow.stop import ROUNDS, why_stop
from evolve.campaign.measure import measure
from evolve.campaign.state import CampaignState
from evolve.core.cases import Split
from evolve.core.hashing import short
from harnesses.proposal import Proposal, normal_tree_hash


def planned_rounds(config: CampaignConfig) -> list[tuple[str, int]]:
    """(loop, round) in the order they run: all rounds of the harness loop, then all of the workflow loop."""
    rounds: list[tuple[str, int]] = []
    for name in ("harness", "workflow"):
        settings = getattr(config.loops, name)
        rounds.extend((name, number) for number in range(settings.rounds if settings else 0))
    return rounds


async def run_round(context: CampaignContext, state: CampaignState) -> dict[str, Any]:
    """Runs the next planned round. `stalled` says why when every proposal of the round was invalid."""
    plan = await _plan(context, state)
    seen, history = _seen(context, plan), _history(context, plan)
    found = await propose(context, plan, seen, history)
    accepted = list(state.get("accepted", []))
    for index, item in enumerate(found):
        row = await _handle(context, plan, index, item)
        if row.get("accepted"):
            accepted.append(row)
    invalid = [f for f in found if isinstance(f, Refused) and f.kind != "duplicate"]
    stalled = ""
    if found and len(invalid) == len(found):
        where = f"{plan.loop} round {plan.number + 1}"
        stalled = f"all {len(found)} proposals of {where} were invalid, e.g. {_kept_reason(context, invalid[0])}"
    done = state.get("rounds_done", 0) + 1
    if not stalled and await _stops(context, state, accepted):
        done = len(planned_rounds(context.config))
    return {"accepted": accepted, "rounds_done": done, "stalled": stalled}


async def _plan(context: CampaignContext, state: CampaignState) -> RoundPlan:
    """The parent is the seed in the first round of a loop.

    Later the best accepted trees take turns with it in the harness loop; in the workflow loop it is drawn by weight.
    """
    loop, number = planned_rounds(context.config)[state.get("rounds_done", 0)]
    workflow = context.config.loops.workflow
    if loop == "workflow" and workflow is not None and number:
        pool = await measure_pool(context, state, loop)
        parent = draw_parent(context, workflow, number, pool)
        return RoundPlan(loop, number, workflow, parent, pool.cards[pool.trees.index(parent)], pool)
    ranked = sorted(state.get("accepted", []), key=lambda row: (-row["gain"], row["tree"]))
    parents = [state["seed"], *(row["tree"] for row in ranked)]
    parent = parents[number % len(parents)]
    card = await measure(context, parent, Split.TRAIN, loop)
    return RoundPlan(loop, number, getattr(context.config.loops, loop), parent, card)


async def _stops(context: CampaignContext, state: CampaignState, accepted: list[dict[str, Any]]) -> str:
    """Why the workflow loop should not go on after this round; empty when it should, or has no round left."""
    done = state.get("rounds_done", 0) + 1
    rounds, workflow = planned_rounds(context.config), context.config.loops.workflow
    if workflow is None or done >= len(rounds) or rounds[done][0] != "workflow":
        return ""
    number = rounds[done][1]
    if workflow.early_stop is None or number < workflow.warm_up_rounds + ROUNDS:
        return ""
    after: CampaignState = {**state, "accepted": accepted}
    return why_stop(context, after, workflow, number, await measure_pool(context, after, "workflow"))


async def _handle(context: CampaignContext, plan: RoundPlan, index: int, item: Proposal | Refused) -> dict[str, Any]:
    """Tries one proposal; its ledger row says what became of it."""
    key = f"proposal/{plan.loop}/{plan.number}/{index}"
    if isinstance(item, Refused):
        row: dict[str, Any] = {
            "source": item.source,
            "status": "refused",
            "kind": item.kind,
            "reason": item.reason,
            "round": [plan.loop, plan.number],
        }
        row = kept_row(context, row)
        context.record("proposal", item.source, row, key)
        context.observe("proposal", **row)
        return row
    tree = context.home.trees.put(item.files)
    context.observe("trying", source=item.source, target=item.hypothesis.target)
    trial = await try_proposal(context, plan, item, tree)
    row = {
        "source": item.source,
        "tree": tree,
        "parent": plan.parent,
        "normal_hash": item.normal_hash,
        "target": item.hypothesis.target or "all cases",
        "shape": item.shape,
        "round": [plan.loop, plan.number],
        "cause": item.hypothesis.cause,
        "lever": item.hypothesis.lever,
        "status": "accepted" if trial["accepted"] else "rejected",
        **trial,
    }
    row = kept_row(context, row)
    context.record("proposal", tree, row, key)
    context.observe("proposal", **row)
    return row


def kept_row(context: CampaignContext, row: dict[str, Any]) -> dict[str, Any]:
    """The row as ledger, checkpoint and later prompts may have it: no secrets, and no words of a role that is not kept.

    A refusal quotes the proposer's reply, or the model whose calibration failed; a hypothesis is the proposer's.
    """
    journal = context.config.journal
    mode = journal.modes.of("proposer") if row["source"] == "model" else journal.of_text(context.config.models)
    if mode != "full":
        told = ("reason",) if row["status"] == "refused" else ("cause", "lever") if row["source"] == "model" else ()
        row = {**row, **dict.fromkeys(told, f"[not kept: journal: {mode}]")}
    clean: dict[str, Any] = context.home.redactor.value(row)
    return clean


def _kept_reason(context: CampaignContext, item: Refused) -> str:
    return str(kept_row(context, {"source": item.source, "status": "refused", "reason": item.reason})["reason"])


def _earlier(context: CampaignContext, plan: RoundPlan) -> list[dict[str, Any]]:
    """What earlier rounds proposed. Rows of this round may be there from before a crash and must not count."""
    rows = [dict(row.detail) for row in context.home.ledger.rows(context.id, "proposal")]
    return [row for row in rows if row["round"] != [plan.loop, plan.number]]


def _seen(context: CampaignContext, plan: RoundPlan) -> set[str]:
    """Normal hashes of the seed and of everything proposed in earlier rounds."""
    hashes = {row["normal_hash"] for row in _earlier(context, plan) if "normal_hash" in row}
    return hashes | {normal_tree_hash(context.home.trees.get(context.material.seed_tree))}


def _history(context: CampaignContext, plan: RoundPlan) -> list[str]:
    """What earlier rounds tried and what it did, one line each, for the proposer."""
    lines = []
    for detail in _earlier(context, plan):
        if "tree" in detail:
            outcome = f"{detail['status']}: {100 * detail['gain']:+.0f} points on {detail['units']} train units"
            mine = " [of this parent]" if detail.get("parent") == plan.parent else ""
            lines.append(f"{short(detail['tree'])} {detail['lever']} ({detail['target']}) → {outcome}{mine}")
        else:
            lines.append(f"{detail['source']} refused as {detail['kind']}: {detail['reason']}")
    return lines
