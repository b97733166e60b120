"""Stage `conclude`: commit and move `live` after a promotion, or say why nothing changed."""

from __future__ import annotations

from typing import Any

from evolve.campaign.challenger import load_challenger
from evolve.campaign.context import CampaignContext
from evolve.campaign.measure import measure
from evolve.campaign.publish import behaviour_of, commit_challenger, record_behaviour
from evolve.campaign.state import CampaignState
from evolve.core.cases import Split

CONCLUSION = {"reject": "rejected", "indecisive": "indecisive"}


def approval_question(context: CampaignContext, state: CampaignState) -> dict[str, Any]:
    """What a person is asked before a promotion."""
    return {
        "campaign": context.id,
        "question": f"promote the challenger of {state['baseline']}?",
        "evidence": state["verdict"]["reason"],
        "answers": ["approve", "deny"],
    }


async def conclude(context: CampaignContext, state: CampaignState) -> dict[str, Any]:
    """The last stage. Its ledger row names the conclusion and the reason."""
    outcome = await _outcome(context, state)
    context.record("conclusion", outcome["conclusion"], outcome, key="conclusion")
    context.observe("conclusion", **outcome)
    return outcome


async def _outcome(context: CampaignContext, state: CampaignState) -> dict[str, Any]:
    if not state.get("challenger"):
        return {"conclusion": "nothing_found", "why": _why_nothing(state)}
    verdict = state["verdict"]
    if verdict["decision"] != "promote":
        return {"conclusion": CONCLUSION[verdict["decision"]], "why": verdict["reason"]}
    if context.config.approval == "required" and state.get("approval") != "approve":
        return {"conclusion": "denied", "why": "a person denied the promotion; live is unchanged"}
    version = await _promote(context, state)
    return {"conclusion": "promoted", "why": verdict["reason"], "version": version}


async def _promote(context: CampaignContext, state: CampaignState) -> int:
    challenger = load_challenger(context, state["challenger"])
    expected = int(state["baseline"].partition("@")[2])
    evidence = {"kind": "gate", "campaign": context.id, "verdict": _verdict_row(context)}
    version = commit_challenger(context, challenger.content, evidence, expected)
    cards = []
    for member in challenger.content.trees:
        cards.append(await measure(context, member, Split.TRAIN, "screen"))
        cards.append(await measure(context, member, Split.DEV, "screen"))
    cases = (*context.material.train.fit, *context.dev)
    chosen = dict(zip((c.id for c in cases), challenger.route([c.text for c in cases]), strict=True))
    record_behaviour(context, version, behaviour_of(context, chosen, cards))
    return version


def _verdict_row(context: CampaignContext) -> dict[str, Any]:
    return dict(context.home.ledger.rows(context.id, "verdict")[-1].detail)


def _why_nothing(state: CampaignState) -> str:
    if state.get("stalled"):
        return f"the loops stopped: {state['stalled']}"
    if not state.get("accepted"):
        return "no proposal beat its parent on train; live is unchanged"
    if not state.get("members"):
        return "no accepted candidate could be measured on all train cases"
    return "the best portfolio found is the version that is already live"
