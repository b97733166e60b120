"""Stages `curate` and `fit_router`: which trees become members, and who answers which query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evolve.campaign.context import CampaignContext
from evolve.campaign.measure import measure, shown_ids
from evolve.campaign.publish import model_settings
from evolve.campaign.state import CampaignState
from evolve.core.cases import Case, Split
from evolve.core.scores import Scorecard
from evolve.evaluate.compare import guard_test
from portfolios.choose import RouterChoice, choose_router
from portfolios.curate import CurationSettings, curate
from portfolios.edges import Edges
from portfolios.portfolio import PortfolioContent, content_of


async def curate_members(context: CampaignContext, state: CampaignState) -> dict[str, Any]:
    """Chooses among finalists and seed by coverage of the fit cases, then measures the members on dev."""
    trees = [state["seed"], *state["finalists"]]
    edges = await measured_edges(context, trees, Split.TRAIN)
    settings = context.config.portfolio
    curation = curate(edges.members, edges.scores, CurationSettings(settings.coverage, settings.max_members))
    context.record(
        "curation",
        context.id,
        {
            "members": list(curation.members),
            "coverage": curation.coverage,
            "ceiling": curation.ceiling,
            "reason": curation.reason,
            "contributions": {c.member: c.words for c in curation.contributions},
        },
        key="curation",
    )
    context.observe("note", text=curation.reason)
    for tree in curation.members:
        await measure(context, tree, Split.DEV, "screen")
    return {"members": list(curation.members)}


async def measured_edges(context: CampaignContext, trees: Sequence[str], split: Split) -> Edges:
    """What the trees scored on the fit cases (train) or on dev; everything is stored already or is measured now."""
    cases: tuple[Case, ...] = context.material.train.fit if split is Split.TRAIN else context.dev
    cards: list[Scorecard] = [await measure(context, tree, split, "screen") for tree in trees]
    shown = {tree: shown_ids(context, tree) for tree in trees}
    return Edges.build(cases, cards, context.embedder.embed([c.text for c in cases]), demonstrations=shown)


async def fit_challenger(context: CampaignContext, state: CampaignState) -> dict[str, Any]:
    """Fits on train, chooses matcher and guard on dev, stores the challenger; none when it is what is live."""
    train = await measured_edges(context, state["members"], Split.TRAIN)
    dev = await measured_edges(context, state["members"], Split.DEV)
    settings = context.config.portfolio
    choice = choose_router(
        train, dev, matchers=settings.matchers, seed=context.config.seed, guard=guard_test(settings.guard_alpha)
    )
    content, edges = build_content(context, choice, train)
    artifact = context.home.artifacts.put(canonical_json(content.document()))
    context.record("router", content.content_hash(), choice.document(), key="router")
    context.observe("note", text=choice.reason)
    if content.content_hash() == live_hash(context):
        context.record("unchanged", content.content_hash(), {"reason": "the challenger is what is live"}, key="unchanged")
        return {"challenger": ""}
    return {"challenger": artifact}


def build_content(context: CampaignContext, choice: RouterChoice, train: Edges) -> tuple[PortfolioContent, bytes]:
    """The portfolio a choice amounts to; members that no query would reach are left out."""
    return content_of(choice, train, embedder=context.embedder.identity, models=model_settings(context))


def live_hash(context: CampaignContext) -> str:
    """The content hash of the live version."""
    name = context.config.portfolio.name
    live = context.home.versions.pointer(name)
    return "" if live is None else context.home.versions.get(name, live).content_hash
