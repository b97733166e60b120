"""Stage `baseline`: the seed becomes version 1 if the portfolio is new, and is measured on train and dev."""

from __future__ import annotations

from typing import Any

from evolve.campaign.context import CampaignContext
from evolve.campaign.measure import measure
from evolve.campaign.publish import behaviour_of, commit_seed, record_behaviour, seed_key
from evolve.campaign.stages.fit import seed_content
from evolve.campaign.state import CampaignState
from evolve.core.cases import Split


async def measure_baseline(context: CampaignContext, state: CampaignState) -> dict[str, Any]:
    """Measures the seed; names the baseline the gate will test against: the live version, else the seed."""
    seed = context.material.seed_tree
    train = await measure(context, seed, Split.TRAIN, "baseline")
    dev = await measure(context, seed, Split.DEV, "baseline")
    versions, name = context.home.versions, context.config.portfolio.name
    version = versions.pointer(name)
    if version is None or versions.get(name, version).key == seed_key(context):
        # Also when a crash came after the commit: what follows it is done again, and nothing happens twice.
        version = commit_seed(context, await seed_content(context))
        record_behaviour(context, version, behaviour_of(context, {}, [train, dev]))
    context.record(
        "baseline",
        seed,
        {"train": train.mean(), "dev": dev.mean(), "missing": train.missing + dev.missing, "live": version},
        key="baseline",
    )
    context.observe("note", text=f"seed: {_points(train.mean())} on train, {_points(dev.mean())} on dev")
    return {"seed": seed, "baseline": f"{name}@{version}", "rounds_done": 0, "accepted": []}


def _points(value: float | None) -> str:
    return "unmeasured" if value is None else f"{100 * value:.0f} of 100 points"
