"""Stage `screen`: the best accepted candidates of each target are measured on all fit cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evolve.campaign.context import CampaignContext
from evolve.campaign.measure import measure
from evolve.campaign.state import CampaignState
from evolve.core.cases import Split
from evolve.core.hashing import short


async def screen_finalists(context: CampaignContext, state: CampaignState) -> dict[str, Any]:
    """Names and measures the finalists: at most twice as many as there may be members."""
    chosen = choose_finalists(state.get("accepted", []), 2 * context.config.portfolio.max_members)
    for tree in chosen:
        card = await measure(context, tree, Split.TRAIN, "screen")
        context.record("screened", tree, {"train": card.mean(), "missing": card.missing}, key=f"screen/{tree}")
        mean = 100 * (card.mean() or 0.0)
        context.observe("note", text=f"screened {short(tree)}: {mean:.0f} points on the measured train cases")
    return {"finalists": chosen}


def choose_finalists(accepted: Sequence[dict[str, Any]], most: int) -> list[str]:
    """Round-robin over the targets, the highest batch mean of each first; ties by tree id."""
    by_target: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(accepted, key=lambda r: (-(r["mean"] or 0.0), r["tree"])):
        by_target.setdefault(row["target"], []).append(row)
    chosen: list[str] = []
    for place in range(max((len(rows) for rows in by_target.values()), default=0)):
        for target in sorted(by_target):
            rows = by_target[target]
            if place < len(rows) and rows[place]["tree"] not in chosen:
                chosen.append(rows[place]["tree"])
    return chosen[:most]
