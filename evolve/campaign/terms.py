"""The terms a campaign runs on: models, prices and caps, as a ledger row at its start and another when they change."""

from __future__ import annotations

from evolve.campaign.context import CampaignContext
from evolve.core.hashing import content_hash


def record_terms(context: CampaignContext) -> None:
    """Pins the price of each role's model and the caps. What is booked already never changes; new calls use these."""
    prices = {role: context.books.prices.describe(model.identity) for role, model in sorted(context.models.items())}
    caps = context.config.budget.model_dump(mode="json", exclude={"prices"})
    models = {
        role: {"identity": model.identity, "capabilities": sorted(model.capabilities)}
        for role, model in sorted(context.models.items())
    }
    terms = {"models": models, "prices": prices, "caps": caps}
    _record_data(context)
    rows = context.home.ledger.rows(context.id, "terms")
    if rows and rows[-1].detail == terms:
        return
    context.record("terms", context.id, terms, key=f"terms/{len(rows)}/{content_hash(terms)}")
    if rows and rows[-1].detail["prices"] != prices:
        context.observe("note", text="prices changed since the last session: new calls are booked at the new ones")


def _record_data(context: CampaignContext) -> None:
    """What was read, once: how many cases, and which rows were left out or tolerated."""
    material = context.material
    detail = {
        "fingerprint": material.dataset_hash,
        "skipped": [{"line": bad.line, "reason": bad.reason} for bad in material.skipped],
        "notes": list(material.notes),
    }
    context.record("data", context.id, detail, key="data")
