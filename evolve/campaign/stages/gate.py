"""Stage `gate`: the routed challenger against the live version on sealed cases, under the error budget."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from evolve.campaign.challenger import Challenger, load_challenger, load_live
from evolve.campaign.context import CampaignContext
from evolve.campaign.publish import model_settings
from evolve.campaign.state import CampaignState
from evolve.core.cases import Split
from evolve.core.verdicts import Verdict
from evolve.evaluate.arms import Arm, ArmSetting, RoutedArm, SingleArm
from evolve.evaluate.gate import GatePlan
from evolve.evaluate.heldout import LookPermit, reserve_alpha, run_gate


async def run_gate_stage(context: CampaignContext, state: CampaignState) -> dict[str, Any]:
    """One sealed test; the verdict goes to the ledger before anything else happens with it."""
    challenger = load_challenger(context, state["challenger"])
    live = load_live(context, state["baseline"])
    gate, sealed = context.config.gate, context.material.sealed
    alpha = reserve_alpha(context.home.alpha, sealed, gate.alpha, float(gate.spend), context.id)
    plan = gate_plan(context, alpha)
    permit = LookPermit(context.home.ledger, context.id, "gate")
    verdict = await run_gate(
        sealed, _arm(context, live, "gate"), _arm(context, challenger, "gate"), plan, permit, gate.batch_units
    )
    extra = await _best_single(context, challenger, verdict) if verdict.decision == "promote" else {}
    notes = (*verdict.notes, *context.books.notes(), *_model_notes(context, live))
    row = {**asdict(verdict), "extra": extra, "notes": notes}
    context.record("verdict", state["challenger"], row, key="verdict")
    context.observe("verdict", decision=verdict.decision, reason=verdict.reason)
    return {"verdict": {"decision": verdict.decision, "reason": verdict.reason}}


def gate_plan(context: CampaignContext, alpha: float) -> GatePlan:
    """What is fixed before the first sealed unit is opened."""
    gate, sealed = context.config.gate, context.material.sealed
    horizon = sealed.first(gate.max_cases)
    per_unit = sealed.cases / max(1, sealed.units)
    return GatePlan(
        alpha=alpha,
        horizon=horizon,
        min_units=min(horizon, max(4, round(gate.min_cases / per_unit))),
        min_gain=gate.min_gain,
        guards=gate.guards,
        slice_units=sealed.slice_units(horizon),
        cases=sealed.cases_in(horizon),
    )


def _model_notes(context: CampaignContext, live: Challenger) -> list[str]:
    """Says so when the live version was made for other models than this campaign measures it on."""
    here = {role: settings.get("model") for role, settings in model_settings(context).items()}
    there = {role: settings.get("model") for role, settings in live.content.models.items()}
    return [f"{live.label} was made for {there}; here it was measured on {here}"] if here != there else []


def _arm(context: CampaignContext, side: Challenger, loop: str) -> Arm:
    setting = ArmSetting(context.suite, Split.HELDOUT, loop, context.config.gate.repetitions)
    return RoutedArm(side.label, side.route, setting)


async def _best_single(context: CampaignContext, challenger: Challenger, verdict: Verdict) -> dict[str, Any]:
    """After a promotion: the best single member (as chosen on dev) on the same cases, for the report alone."""
    best = challenger.content.policy.default_member
    if not context.config.gate.compare_best_single:
        return {}
    permit = LookPermit(context.home.ledger, context.id, "report_best_single")
    cases = context.material.sealed.look(0, verdict.looked, permit)
    setting = ArmSetting(context.suite, Split.HELDOUT, "report", context.config.gate.repetitions)
    card = await SingleArm("best single", best, setting).run(cases)
    return {"best_single": best, "best_single_heldout": card.mean()}
