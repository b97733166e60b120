"""What `evolve check` says before anything is spent: runs, calls, dollars, minutes, and what the gate could detect."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from evolve.books import PriceBook
from evolve.campaign.config import CampaignConfig
from evolve.campaign.context import CampaignInputs, Material
from evolve.core.errors import UserError
from evolve.core.messages import Usage
from evolve.evaluate.heldout import spendable_alpha
from evolve.evaluate.plan import minimum_detectable_gain
from evolve.store import Home
from harnesses.manifest import harness_workflow

SECONDS_PER_CALL = {"local": 0.8, "scripted": 0.0}
"""Assumed where the books hold no call of this model yet; any other provider: 2.0."""


@dataclass(frozen=True)
class Estimate:
    """The plan in numbers. `runs` by stage are upper bounds; `usd` is None when a price is unknown."""

    runs: dict[str, int]
    calls: int
    usd: Decimal | None
    minutes: float
    alpha: float
    alpha_left: float
    heldout_units: int
    heldout_cases: int
    detectable: float | None
    skipped: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    assumptions: tuple[str, ...]


def estimate(inputs: CampaignInputs, home: Home | None, material: Material) -> Estimate:
    """Counts from the config and the data alone; no model is opened."""
    config = inputs.config
    runs = planned_runs(config, material)
    calls_per_run = _calls_per_run(material, home)
    calls = sum(runs.values()) * calls_per_run + _proposer_calls(config)
    seconds, measured = _seconds_per_call(config, home)
    left = config.gate.alpha if home is None else spendable_alpha(home.alpha, material.sealed, config.gate.alpha, 1.0)
    alpha = left * float(config.gate.spend)
    horizon = material.sealed.first(config.gate.max_cases)
    detectable = minimum_detectable_gain(horizon, alpha) if alpha > 1e-6 else None
    usd, price_note = _usd(config, calls)
    return Estimate(
        runs=runs,
        calls=calls,
        usd=usd,
        minutes=calls * seconds / config.models["agent"].lanes / 60,
        alpha=alpha,
        alpha_left=left,
        heldout_units=horizon,
        heldout_cases=material.sealed.cases_in(horizon),
        detectable=detectable,
        skipped=tuple({"line": bad.line, "reason": bad.reason} for bad in material.skipped),
        notes=material.notes,
        warnings=tuple(_warnings(config, calls, detectable, alpha, runs, calls_per_run)),
        assumptions=(f"{calls_per_run} model calls a run", f"{seconds:.2f} s a call ({measured})", price_note),
    )


def planned_runs(config: CampaignConfig, material: Material) -> dict[str, int]:
    """Upper bounds of harness runs by stage."""
    fit = len(material.train.fit)
    dev = min(len(material.dev), config.portfolio.dev_cases or len(material.dev))
    loops = [loop for loop in (config.loops.harness, config.loops.workflow) if loop is not None]
    members, workflow = config.portfolio.max_members, config.loops.workflow
    proposals = sum(loop.rounds * loop.proposals for loop in loops)
    heldout = min(material.sealed.cases, config.gate.max_cases or material.sealed.cases) * config.gate.repetitions
    return {
        "baseline": fit + dev,
        "proposals": sum(loop.rounds * loop.proposals * loop.batch for loop in loops),
        "pool": min(proposals, 2 * members) * fit if workflow is not None and workflow.rounds > 1 else 0,
        "screen": min(proposals, 2 * members) * fit + min(proposals, members) * dev,
        "gate": heldout * (3 if config.gate.compare_best_single else 2),
    }


def _calls_per_run(material: Material, home: Home | None) -> int:
    """One per node of the seed's graph that asks a model: what a run of the seed makes without retries."""
    if home is None:
        return 1
    workflow = harness_workflow(home.trees.get(material.seed_tree))
    return max(1, sum(1 for node in workflow.nodes.values() if node.operator not in ("nearest", "verify")))


def _proposer_calls(config: CampaignConfig) -> int:
    loops = [loop for loop in (config.loops.harness, config.loops.workflow) if loop is not None]
    return sum(loop.rounds * loop.model_proposals for loop in loops if "model" in loop.proposers)


def _seconds_per_call(config: CampaignConfig, home: Home | None) -> tuple[float, str]:
    agent = config.models["agent"]
    measured = home.journal.mean_seconds(agent.model) if home is not None else None
    if measured is not None:
        return measured, "measured in this home"
    return SECONDS_PER_CALL.get(agent.provider, 2.0), "assumed; nothing measured yet"


def _usd(config: CampaignConfig, calls: int) -> tuple[Decimal | None, str]:
    """Dollars at 600 prompt and 100 generated tokens a call; None when the agent's model has no price.

    UserError for a dollar cap that a model without a price would make worthless.
    """
    prices = PriceBook(config.budget.prices)
    unpriced = sorted({m.model for m in config.models.values() if not prices.knows(m.model)})
    if unpriced and config.budget.usd is not None and config.budget.calls is None:
        raise UserError(
            f"a dollar cap needs a price, and {unpriced[0]!r} has none",
            place="budget.usd",
            fix="state its price in budget.prices, or cap the calls as well with budget.calls",
        )
    agent = config.models["agent"].model
    price = prices.price(agent, Usage(prompt_tokens=600, completion_tokens=100))
    if price is None:
        return None, f"the price of {agent} is unknown: dollars cannot be said"
    note = f"; {', '.join(unpriced)} unpriced, so dollars are a lower bound" if unpriced else ""
    return price * calls, f"600 prompt and 100 generated tokens a call at {prices.words(agent)}{note}"


def _warnings(
    config: CampaignConfig, calls: int, detectable: float | None, alpha: float, runs: dict[str, int], per_run: int
) -> list[str]:
    found = []
    if alpha <= 1e-6:
        found.append("the error budget of these heldout cases is used up: add fresh cases")
    elif detectable is None:
        found.append("too few heldout units to prove any gain: the campaign would end indecisive; bring more cases")
    elif detectable > 0.25:
        found.append(f"only gains of {100 * detectable:.0f} points or more can be proven; more cases see smaller ones")
    cap = config.budget.calls
    if cap is not None and cap < calls:
        base = runs["baseline"] * per_run
        afforded = max(0, cap - base) // max(1, per_run)
        found.append(
            f"budget.calls {cap} is below the upper bound of {calls}: after the baseline's {base} calls it affords "
            f"about {afforded} more runs"
        )
    return found
