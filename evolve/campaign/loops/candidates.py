"""Making proposals for one round and refusing, for free, what cannot be a candidate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from evolve.books import Owner
from evolve.campaign.context import CampaignContext
from evolve.campaign.loops.bake import bake_offsets
from evolve.campaign.loops.failures import dev_aggregate, failure_excerpts
from evolve.campaign.loops.plan import RoundPlan
from evolve.campaign.loops.sieve import Refused, Sieve
from evolve.campaign.loops.workflow.told import pool_words
from evolve.core.cases import Case
from evolve.core.errors import WorldError
from evolve.core.hashing import derive_seed
from harnesses.answer import ProposalRefused, read_model_proposal
from harnesses.catalog.order import ENTRIES, CatalogSettings, catalog_proposals
from harnesses.excerpts import FailureExcerpt
from harnesses.leak import LeakIndex, build_leak_index
from harnesses.proposal import Proposal
from harnesses.propose import AskSettings, model_request
from harnesses.shapes import Example, shape_name


@dataclass(frozen=True)
class Known:
    """What all model proposals of a round share: earlier hashes and history, what must not leak, what fails."""

    seen: Collection[str]
    history: Sequence[str]
    leaks: LeakIndex
    failures: Sequence[FailureExcerpt]


def examples_of(cases: Sequence[Case]) -> list[Example]:
    """Train cases as a proposer sees them."""
    return [Example(case.id, case.text, case.expected) for case in cases]


def leak_index(context: CampaignContext) -> LeakIndex:
    """What must not be copied into a tree: dev and heldout texts, and train texts outside demonstrations."""
    labels = {str(v) for c in context.material.train.pool for v in _label_values(c.expected)}
    sealed = (*context.material.dev, *context.material.sealed.for_leak_check())
    return build_leak_index((*context.material.train.fit, *context.material.train.pool), sealed, labels=labels)


def _label_values(expected: object) -> list[object]:
    return list(expected.values()) if isinstance(expected, dict) else [expected]


async def propose(
    context: CampaignContext, plan: RoundPlan, seen: Collection[str], history: Sequence[str]
) -> list[Proposal | Refused]:
    """Catalog and model proposals of one round, in a fixed order, duplicates and leaks refused."""
    leaks = leak_index(context)
    found: list[Proposal | Refused] = []
    if "catalog" in plan.settings.proposers:
        for proposal in _from_catalog(context, plan):
            found.append(await _baked(context, plan, proposal))
    if "model" in plan.settings.proposers:
        known = Known(seen, history, leaks, failure_excerpts(context, plan))
        for index in range(plan.settings.model_proposals):
            found.append(await _from_model(context, plan, index, known))
    sieve = Sieve(context, context.home.trees.get(plan.parent), seen, leaks)
    return [sieve.sift(item) for item in found]


def _from_catalog(context: CampaignContext, plan: RoundPlan) -> list[Proposal]:
    """Catalog proposals, each aimed at all measured cases of its answer shape, failing or not.

    The parent's failures are known when the target is drawn. A target of failures alone would let any tree with other
    random answers look better than its parent.
    """
    room = plan.settings.proposals - (plan.settings.model_proposals if "model" in plan.settings.proposers else 0)
    pool, fit = examples_of(context.material.train.pool), context.material.train.fit
    shapes = Counter(shape_name(case.expected) for case in fit if case.id in plan.failing)
    settings = CatalogSettings(
        capabilities=context.models["agent"].capabilities,
        seed=derive_seed(context.config.seed, plan.loop, plan.number),
        limit=max(0, room),
        exclude=_excluded(context, plan, pool),
    )
    proposals = catalog_proposals(
        context.home.trees.get(plan.parent), pool, failing_ids=_stand_ins(pool, shapes), settings=settings
    )
    return [_aim(proposal, fit) for proposal in proposals]


def _stand_ins(pool: Sequence[Example], shapes: Counter[str]) -> set[str]:
    """For each failing shape as many pool examples as it has failures, so that the worst shape comes first."""
    left = Counter(shapes)
    ids = set()
    for example in pool:
        name = shape_name(example.expected)
        if left[name] > 0:
            left[name] -= 1
            ids.add(example.id)
    return ids


def _excluded(context: CampaignContext, plan: RoundPlan, pool: Sequence[Example]) -> frozenset[tuple[str, str]]:
    """Entries of the other loop, and what was tried on this parent before."""
    names = {shape_name(example.expected) for example in pool}
    other = {(entry, name) for entry in ENTRIES if entry not in plan.entries for name in names}
    tried = {
        (str(row.detail["source"]).removeprefix("catalog:"), str(row.detail["shape"]))
        for row in context.home.ledger.rows(context.id, "proposal")
        if row.detail.get("parent") == plan.parent and row.detail.get("round") != [plan.loop, plan.number]
    }
    return frozenset(other | tried)


def _aim(proposal: Proposal, fit: Sequence[Case]) -> Proposal:
    ids = frozenset(case.id for case in fit if shape_name(case.expected) == proposal.shape)
    return replace(proposal, hypothesis=replace(proposal.hypothesis, target=proposal.shape, target_case_ids=ids))


async def _from_model(context: CampaignContext, plan: RoundPlan, index: int, known: Known) -> Proposal | Refused:
    """One proposal by the proposer model; a refusal says why and was paid for."""
    files = context.home.trees.get(plan.parent)
    settings = AskSettings(
        budget_bytes=plan.settings.prompt_bytes,
        max_tokens=plan.settings.reply_tokens,
        seed=derive_seed(context.config.seed, plan.loop, plan.number, index),
        pool="" if plan.pool is None else pool_words(context, plan.pool),
    )
    request = model_request(files, known.failures, dev_aggregate(context), known.history, settings)
    owner = Owner(context.id, plan.loop, plan.parent, f"round {plan.number}", index, "proposer")
    try:
        reply = await context.ask_as(owner).reply(request)
        return read_model_proposal(reply.text, files, seen=known.seen, leaks=known.leaks)
    except ProposalRefused as refusal:
        return Refused("model", refusal.kind, refusal.reason)
    except WorldError as error:
        if error.halts:
            raise
        return Refused("model", "world", str(error))


async def _baked(context: CampaignContext, plan: RoundPlan, proposal: Proposal) -> Proposal | Refused:
    try:
        return await bake_offsets(context, plan, proposal)
    except WorldError as error:
        if error.halts:
            raise
        return Refused(proposal.source, "world", f"its calibration could not be measured: {error}")
