"""Making proposals for one round and refusing, for free, what cannot be a candidate."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from evolve.books import Owner
from evolve.campaign.config import LoopSettings
from evolve.campaign.context import CampaignContext
from evolve.core.cases import Case
from evolve.core.errors import WorldError
from evolve.core.hashing import derive_seed
from evolve.core.scores import Scorecard
from harnesses.answer import ProposalRefused, read_model_proposal
from harnesses.catalog import CatalogQuery, catalog_proposals
from harnesses.excerpts import FailureExcerpt
from harnesses.leak import LeakIndex, build_leak_index, leak_check
from harnesses.manifest import check_harness
from harnesses.proposal import Proposal, normal_tree_hash
from harnesses.propose import model_request
from harnesses.shapes import Example

HARNESS_ENTRIES = ("demonstrations", "constrained", "retry")
WORKFLOW_ENTRIES = ("nearest", "calculator", "labels", "tools", "spans", "self_consistency")
"""Which catalog entries a loop draws from: the harness loop keeps the graph, the workflow loop changes it."""


@dataclass(frozen=True)
class RoundPlan:
    """One round of one loop, on one parent."""

    loop: str
    number: int
    settings: LoopSettings
    parent: str
    parent_card: Scorecard

    @property
    def entries(self) -> tuple[str, ...]:
        """The catalog entries of this loop."""
        return HARNESS_ENTRIES if self.loop == "harness" else WORKFLOW_ENTRIES

    @cached_property
    def failing(self) -> frozenset[str]:
        """Train cases on which the parent scores below 1."""
        means = {case_id: self.parent_card.case_mean(case_id) for case_id in self.parent_card.by_case}
        return frozenset(case_id for case_id, mean in means.items() if mean is not None and mean < 1.0)


@dataclass(frozen=True)
class Refused:
    """A proposal that never became a candidate; its cost is booked all the same."""

    source: str
    kind: str
    reason: str


def examples_of(cases: Sequence[Case]) -> list[Example]:
    """Train cases as a proposer sees them."""
    return [Example(case.id, case.text, case.expected) for case in cases]


def leak_index(context: CampaignContext) -> LeakIndex:
    """What must not be copied into a tree: dev and heldout texts, and train texts outside demonstrations."""
    labels = {str(v) for c in context.material.train.pool for v in _label_values(c.expected)}
    sealed = (*context.material.dev, *context.material.sealed.for_leak_check())
    return build_leak_index(
        (*context.material.train.fit, *context.material.train.pool), sealed, labels=labels
    )


def _label_values(expected: object) -> list[object]:
    return list(expected.values()) if isinstance(expected, dict) else [expected]


async def propose(
    context: CampaignContext, plan: RoundPlan, seen: Collection[str], history: Sequence[str]
) -> list[Proposal | Refused]:
    """Catalog and model proposals of one round, in a fixed order, duplicates and leaks refused."""
    found: list[Proposal | Refused] = []
    if "catalog" in plan.settings.proposers:
        found.extend(_from_catalog(context, plan, seen))
    if "model" in plan.settings.proposers:
        for index in range(plan.settings.model_proposals):
            found.append(await _from_model(context, plan, index, seen, history))
    return _without_repeats(context, plan, found, seen)


def _from_catalog(context: CampaignContext, plan: RoundPlan, seen: Collection[str]) -> list[Proposal]:
    room = plan.settings.proposals - (plan.settings.model_proposals if "model" in plan.settings.proposers else 0)
    query = CatalogQuery(
        parent=context.home.trees.get(plan.parent),
        pool=examples_of(context.material.train.pool),
        measured=examples_of(context.material.train.fit),
        failing=plan.failing,
        entries=plan.entries,
        capabilities=context.models["agent"].capabilities,
        seed=derive_seed(context.config.seed, plan.loop, plan.number),
        limit=max(0, room),
        seen=frozenset(seen),
    )
    return catalog_proposals(query)


async def _from_model(
    context: CampaignContext, plan: RoundPlan, index: int, seen: Collection[str], history: Sequence[str]
) -> Proposal | Refused:
    """One proposal by the proposer model; a refusal says why and was paid for."""
    files = context.home.trees.get(plan.parent)
    failures = [f for f in await _excerpts(context, plan) if f is not None]
    request = model_request(files, failures, _dev_aggregate(context), history, _ask_settings(context, plan, index))
    owner = Owner(context.id, plan.loop, plan.parent, f"round {plan.number}", index, "proposer")
    try:
        reply = await context.books.model(context.models["proposer"], owner).reply(request)
        return read_model_proposal(reply.text, files, seen=seen, leaks=leak_index(context))
    except ProposalRefused as refusal:
        return Refused("model", refusal.kind, refusal.reason)
    except WorldError as error:
        return Refused("model", "world", str(error))


def _without_repeats(
    context: CampaignContext, plan: RoundPlan, found: Sequence[Proposal | Refused], seen: Collection[str]
) -> list[Proposal | Refused]:
    """Catalog proposals pass the same checks as a model's: duplicate, static check, leak."""
    known = {*seen, normal_tree_hash(context.home.trees.get(plan.parent))}
    parent_files, leaks = context.home.trees.get(plan.parent), leak_index(context)
    kept: list[Proposal | Refused] = []
    for item in found:
        if isinstance(item, Proposal):
            refusal = _refusal(item, known, parent_files, leaks)
            known.add(item.normal_hash)
            kept.append(refusal or item)
        else:
            kept.append(item)
    return kept


def _refusal(item: Proposal, known: Collection[str], parent: dict[str, bytes], leaks: LeakIndex) -> Refused | None:
    if item.normal_hash in known:
        return Refused(item.source, "duplicate", "equal to its parent or to an earlier proposal, but for white space")
    if problems := check_harness(item.files):
        return Refused(item.source, "check", "; ".join(str(p) for p in problems))
    if found := leak_check(parent, item.files, leaks):
        return Refused(item.source, "leak", f"text of {len({x.case_id for x in found})} cases would enter the tree")
    return None
