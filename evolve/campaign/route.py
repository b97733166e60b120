"""One production query through a version: opens what it needs, answers, and books the calls."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass

from evolve.books import Books, Caps, JournalMode, JournalModes, PriceBook
from evolve.campaign.journal import JournalSettings, read_settings
from evolve.campaign.roles import booked_models, open_models
from evolve.core.errors import EvolveError, UserError
from evolve.core.redact import Redactor, redacted_error
from evolve.embed import open_embedder
from evolve.models import ModelSettings, ScriptedReply
from evolve.report.references import Reference, resolve_reference
from evolve.run.answer import Answer, Query, answer_query, open_version
from evolve.run.execute import Executor
from evolve.store import Home

ROUTE = "route:"
"""How the books name a routed query: this, the version, a slash, the query's id."""


@dataclass(frozen=True)
class RoutedQuery:
    """An answer with the version that gave it; `label` is the answering member's.

    `id` is what `evolve forget --id` takes, `journal` what was kept of the query.
    """

    version: str
    label: str
    answer: Answer
    id: str
    journal: str


def route_once(
    home: Home,
    reference: str | None,
    query: str,
    environment: Mapping[str, str],
    scripted: Mapping[str, ScriptedReply] | None = None,
    journal: JournalMode | None = None,
) -> RoutedQuery:
    """Answers one text query. UserError when no portfolio is meant or it has no live version.

    `journal` says what is kept of it; without, what the campaign that made the version says of its roles.
    """
    found = resolve_reference(home, reference or _only_name(home))
    modes = version_journal(home, found.name, found.version).modes if journal is None else JournalModes(journal)
    try:
        return asyncio.run(_route(home, found, query, _Surroundings(environment, scripted or {}, modes)))
    except EvolveError as error:
        redacted_error(error, home.redactor)
        raise


def version_journal(home: Home, name: str, number: int | None) -> JournalSettings:
    """The journal settings of the campaign behind a version, through rollbacks; the defaults where none is known."""
    while number is not None:
        row = home.versions.get(name, number)
        number = row.evidence.get("restores")
        kind, _, campaign = row.key.partition("/")
        if kind in ("seed", "promote"):
            known = {c.id: c for c in home.campaigns.list()}
            return read_settings(known[campaign].config.get("journal") if campaign in known else None)
    return JournalSettings()


@dataclass(frozen=True)
class _Surroundings:
    """What a query meets besides its version."""

    environment: Mapping[str, str]
    scripted: Mapping[str, ScriptedReply]
    modes: JournalModes


def _only_name(home: Home) -> str:
    names = home.versions.names()
    if len(names) == 1:
        return names[0]
    known = ", ".join(names) or "none yet; run a campaign first"
    raise UserError("which portfolio?", place="--portfolio", fix=f"known portfolios: {known}")


async def _route(home: Home, found: Reference, query: str, around: _Surroundings) -> RoutedQuery:
    assert found.content is not None
    content = found.content
    async with AsyncExitStack() as stack:
        settings = {role: ModelSettings.model_validate(raw) for role, raw in content.models.items()}
        keys = filter(None, (wanted.api_key_env for wanted in settings.values()))
        home.learn_secrets(Redactor.of(around.environment, keys))
        asked = Query(uuid.uuid4().hex, query, query)
        mailbox = home.mailbox / f"route-{asked.id}"
        models = open_models(settings, around.environment, around.scripted, stack, mailbox=mailbox)
        embedder = open_embedder(content.router.embedding.partition(":")[0])
        # Books of its own for each query: opening books reads their journal, and it must not grow with the traffic.
        owner = f"{ROUTE}{found.label}/{asked.id}"
        books = Books(home, owner, Caps(), PriceBook(), around.modes)
        stack.push_async_callback(books.close)
        executor = Executor(home.trees, booked_models(books, models, owner), embedder)
        answer = await answer_query(asked, open_version(home, content, embedder), executor)
    return RoutedQuery(found.label, found.members[answer.member], answer, asked.id, around.modes.strictest(settings))
