"""Stages `curate` and `fit_router`: which trees become members, and who answers which query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from evolve.campaign.context import CampaignContext
from evolve.campaign.measure import measure, shown_ids
from evolve.campaign.publish import model_settings
from evolve.campaign.state import CampaignState
from evolve.core.cases import Case, Split
from evolve.core.scores import Scorecard
from evolve.evaluate.compare import lower_bound
from harnesses.shapes import shape_name
from portfolios.choose import ChoiceSettings, Guard, GuardResult, RouterChoice, choose_router
from portfolios.curate import CurationSettings, curate
from portfolios.edges import Edges
from portfolios.matchers import open_matcher
from portfolios.portfolio import PortfolioContent, PortfolioMember, build_content, parse_content


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
    embeddings = context.embedder.embed([c.text for c in cases])
    families = {case.id: family_of(case, context.config.portfolio.family) for case in cases}
    edges = Edges.build(cases, cards, embeddings, demonstrations=shown, families=families)
    return edges.retold(context.kept_text)


def family_of(case: Case, tag: str | None) -> str:
    """The kind of task a router may learn to tell apart: the value of the tag, else the shape of the answer."""
    return shape_name(case.expected) if tag is None else case.tags.get(tag, "")


async def fit_challenger(context: CampaignContext, state: CampaignState) -> dict[str, Any]:
    """Fits on train, chooses matcher and guard on dev, stores the challenger; none when it is what is live."""
    train = await measured_edges(context, state["members"], Split.TRAIN)
    dev = await measured_edges(context, state["members"], Split.DEV)
    choice = choose(context, train, dev)
    members = state["members"] if choice.routes else [choice.best_single]
    content = keep_content(context, choice, train.of_members(members), dev, _labels(context, members))
    artifact = context.home.artifacts.put_json(content.as_json())
    context.record("router", content.content_hash(), choice_document(choice), key="router")
    context.observe("note", text=choice.reason)
    if is_live(context, content):
        context.record(
            "unchanged", content.content_hash(), {"reason": "the challenger is what is live"}, key="unchanged"
        )
        return {"challenger": ""}
    return {"challenger": artifact}


async def seed_content(context: CampaignContext) -> PortfolioContent:
    """The portfolio that holds the seed alone."""
    seed = context.material.seed_tree
    train = await measured_edges(context, [seed], Split.TRAIN)
    dev = await measured_edges(context, [seed], Split.DEV)
    member = PortfolioMember(tree=seed, label="seed", role="the harness the campaign started from")
    return keep_content(context, choose(context, train, dev), train, dev, [member])


def choose(context: CampaignContext, train: Edges, dev: Edges) -> RouterChoice:
    """The router choice over the members of `train`, with this campaign's settings."""
    settings = context.config.portfolio
    return choose_router(
        train,
        dev,
        matchers=[open_matcher(name) for name in settings.matchers],
        seed=context.config.seed,
        guard=router_guard(settings.guard_alpha),
        settings=ChoiceSettings(embedding=context.embedder.identity, cost_weight=_cost_weight(context, train)),
    )


def _cost_weight(context: CampaignContext, train: Edges) -> float:
    """The campaign's λ; 0, and said so, where no run has a known price."""
    weight = context.config.portfolio.cost_weight
    if weight and train.costs is None:
        context.observe("note", text="portfolio.cost_weight has no effect: no run of these members has a known price")
        return 0.0
    return weight


def router_guard(alpha: float) -> Guard:
    """The paired test that a router must pass: its mean gain per unit over the best single is proven above 0."""

    def guard(routed: Sequence[float], single: Sequence[float], units: Sequence[str]) -> GuardResult:
        pairs: dict[str, list[float]] = {}
        for a, b, unit in zip(routed, single, units, strict=True):
            pairs.setdefault(unit, []).append(a - b)
        differences = [sum(d) / len(d) for d in pairs.values()]
        gain, low = sum(differences) / len(differences), lower_bound(differences, alpha)
        words = f"gain {100 * gain:+.1f} points over {len(differences)} units, at least {100 * low:+.1f}"
        words += f" at level {alpha:g}"
        return GuardResult(low > 0, gain, low, words)

    return guard


def keep_content(
    context: CampaignContext, choice: RouterChoice, train: Edges, dev: Edges, members: Sequence[PortfolioMember]
) -> PortfolioContent:
    """The content of a choice over exactly the members of `train`, its edge table stored."""
    if set(choice.router.members) != set(train.members):
        choice = choose(context, train, dev)
    content, edges = build_content(choice, members, model_settings(context))
    context.home.artifacts.put(edges)
    return content


def _labels(context: CampaignContext, members: Sequence[str]) -> list[PortfolioMember]:
    """Each member with the proposal it came from, and what it adds in the words of the curation."""
    rows = {row.subject: row.detail for row in context.home.ledger.rows(context.id, "proposal")}
    curation = context.home.ledger.rows(context.id, "curation")[-1].detail
    found = []
    for tree in members:
        row = rows.get(tree)
        label = "seed" if row is None else f"{str(row['source']).removeprefix('catalog:')} {row['target']}"
        found.append(PortfolioMember(tree=tree, label=label, role=str(curation["contributions"].get(tree, ""))))
    return found


def choice_document(choice: RouterChoice) -> dict[str, Any]:
    """What the ledger keeps of a router choice."""
    return {
        "matcher": choice.recipe.matcher,
        "routes": choice.routes,
        "best_single": choice.best_single,
        "best_single_dev": choice.best_single_mean,
        "routed_dev": choice.routed_mean,
        "oracle_dev": choice.oracle_mean,
        "trials": [asdict(trial) for trial in choice.trials],
        "guard": asdict(choice.guard) if choice.guard else None,
        "missing": choice.missing,
        "reason": choice.reason,
    }


def is_live(context: CampaignContext, content: PortfolioContent) -> bool:
    """Whether queries would be served just as they are now: there would be nothing to test."""
    name = context.config.portfolio.name
    live = context.home.versions.pointer(name)
    if live is None:
        return False
    now = parse_content(context.home.versions.get(name, live).content)
    same_single = len(content.members) == 1 and content.trees == now.trees and content.models == now.models
    return same_single or content.content_hash() == now.content_hash()
