"""One production query through a version: opens what it needs, answers, and books the calls."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass

from evolve.books import Books, Caps, PriceBook
from evolve.campaign.roles import booked_models, open_models
from evolve.core.errors import UserError
from evolve.embed import open_embedder
from evolve.models import ModelSettings, ScriptedReply
from evolve.report.references import Reference, resolve_reference
from evolve.run.answer import Answer, Query, answer_query, open_version
from evolve.run.execute import Executor
from evolve.store import Home


@dataclass(frozen=True)
class RoutedQuery:
    """An answer with the version that gave it; `label` is the answering member's."""

    version: str
    label: str
    answer: Answer


def route_once(
    home: Home,
    reference: str | None,
    query: str,
    environment: Mapping[str, str],
    scripted: Mapping[str, ScriptedReply] | None = None,
) -> RoutedQuery:
    """Answers one text query. UserError when no portfolio is meant or it has no live version."""
    found = resolve_reference(home, reference or _only_name(home))
    return asyncio.run(_route(home, found, query, environment, scripted or {}))


def _only_name(home: Home) -> str:
    names = home.versions.names()
    if len(names) == 1:
        return names[0]
    known = ", ".join(names) or "none yet; run a campaign first"
    raise UserError("which portfolio?", place="--portfolio", fix=f"known portfolios: {known}")


async def _route(
    home: Home, found: Reference, query: str, environment: Mapping[str, str], scripted: Mapping[str, ScriptedReply]
) -> RoutedQuery:
    assert found.content is not None
    content = found.content
    async with AsyncExitStack() as stack:
        settings = {role: ModelSettings.model_validate(raw) for role, raw in content.models.items()}
        asked = Query(uuid.uuid4().hex, query, query)
        mailbox = home.mailbox / f"route-{asked.id}"
        models = open_models(settings, environment, scripted, stack, mailbox=mailbox)
        embedder = open_embedder(content.router.embedding.partition(":")[0])
        # Books of its own for each query: opening books reads their journal, and it must not grow with the traffic.
        owner = f"route:{found.label}/{asked.id}"
        books = Books(home, owner, Caps(), PriceBook(), "full")
        stack.push_async_callback(books.close)
        executor = Executor(home.trees, booked_models(books, models, owner), embedder)
        answer = await answer_query(asked, open_version(home, content, embedder), executor)
    return RoutedQuery(found.label, found.members[answer.member], answer)
