"""A portfolio ready to be routed: the challenger of this campaign, or the version that is live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evolve.campaign.context import CampaignContext
from evolve.run.answer import open_version
from portfolios.portfolio import PortfolioContent, parse_content
from portfolios.router import Router


@dataclass(frozen=True)
class Challenger:
    """One side of the gate."""

    label: str
    content: PortfolioContent
    router: Router
    context: CampaignContext

    def route(self, texts: Sequence[str]) -> list[str]:
        """The member tree for each query text."""
        decisions = self.router.decide_many(texts, self.context.embedder.embed(texts))
        return [decision.member for decision in decisions]


def load_challenger(context: CampaignContext, artifact: str) -> Challenger:
    """The challenger that `fit_router` stored."""
    content = parse_content(context.home.artifacts.get_json(artifact))
    return Challenger("challenger", content, open_version(context.home, content, context.embedder), context)


def load_live(context: CampaignContext, reference: str) -> Challenger:
    """The version that was live when the campaign measured its baseline."""
    name, _, number = reference.partition("@")
    row = context.home.versions.get(name, int(number))
    content = parse_content(row.content)
    return Challenger(reference, content, open_version(context.home, content, context.embedder), context)
