"""Measuring one tree on the train or dev cases of a campaign."""

from __future__ import annotations

from collections.abc import Collection

from evolve.campaign.context import CampaignContext
from evolve.core.cases import Case, Split
from evolve.core.scores import Scorecard
from evolve.evaluate.suite import Evaluation
from harnesses.demonstrations import demonstration_ids


async def measure(context: CampaignContext, tree: str, split: Split, loop: str) -> Scorecard:
    """All fit cases (train) or dev cases of `tree`; cases it carries as demonstrations are left out."""
    cases = context.material.train.fit if split is Split.TRAIN else context.dev
    return await measure_cases(context, tree, without(cases, shown_ids(context, tree)), split, loop)


async def measure_cases(
    context: CampaignContext, tree: str, cases: tuple[Case, ...], split: Split, loop: str
) -> Scorecard:
    """Exactly these cases."""
    return await context.suite.evaluate(Evaluation(tree, cases, split, loop))


def shown_ids(context: CampaignContext, tree: str) -> frozenset[str]:
    """The train cases that `tree` carries as demonstrations."""
    return frozenset(demonstration_ids(context.home.trees.get(tree)))


def without(cases: tuple[Case, ...], ids: Collection[str]) -> tuple[Case, ...]:
    """The cases whose id is not among `ids`."""
    return tuple(case for case in cases if case.id not in ids)
