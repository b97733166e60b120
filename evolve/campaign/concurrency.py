"""What adaptive slots learnt about the providers of a campaign, for its ledger."""

from __future__ import annotations

from typing import Any

from evolve.campaign.context import CampaignContext
from evolve.models import AdaptiveSlots, OpenedModel


def record_concurrency(context: CampaignContext) -> None:
    """One ledger row for each run of the process that asked a model with adaptive slots; roles may share a model."""
    roles = {role: found for role, model in context.models.items() if (found := _learnt(model))}
    if roles:
        number = len(context.home.ledger.rows(context.id, "concurrency"))
        context.record("concurrency", context.id, roles, key=f"concurrency/{number}")


def _learnt(model: OpenedModel) -> dict[str, Any]:
    """Empty for a model that was not asked, or whose slots learn nothing."""
    if not isinstance(model.slots, AdaptiveSlots):
        return {}
    state = model.slots.state()
    if not state.answers and not state.refusals:
        return {}
    return {
        "start": state.start,
        "lowest": state.lowest,
        "highest": state.highest,
        "refusals": state.refusals,
        "seconds_paused": round(state.seconds_paused, 3),
    }
