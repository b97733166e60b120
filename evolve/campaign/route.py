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
from evolve.report.traffic import record_routed
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


@dataclass(frozen=True)
class Wishes:
    """What one query asks for beside its answer.

    `journal` says what is kept of it; without, what the campaign that made the version says of its roles. `cost_weight`
    is its λ in [0, 1); without, the version's.
    """

    journal: JournalMode | None = None
    cost_weight: float | None = None


def route_once(
    home: Home,
    reference: str | None,
    query: str,
    environment: Mapping[str, str],
    scripted: Mapping[str, ScriptedReply] | None = None,
    wishes: Wishes | None = None,
) -> RoutedQuery:
    """Answers one text query. UserError when no portfolio is meant or it has no live version.

    Who answered by which rule is kept always, without the text: the drift alarm needs it.
    """
    wishes = wishes or Wishes()
    found = resolve_reference(home, reference or _only_name(home))
    modes = version_journal(home, found.name, found.version).modes
    modes = modes if wishes.journal is None else JournalModes(wishes.journal)
    try:
        return asyncio.run(
            _route(home, found, query, _Surroundings(environment, scripted or {}, modes, wishes.cost_weight))
        )
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
    cost_weight: float | None


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
        asked = Query(uuid.uuid4().hex, query, query, around.cost_weight)
        mailbox = home.mailbox / f"route-{asked.id}"
        models = open_models(settings, around.environment, around.scripted, stack, mailbox=mailbox)
        embedder = open_embedder(content.router.embedding.partition(":")[0])
        # Books of its own for each query: opening books reads their journal, and it must not grow with the traffic.
        owner = f"{ROUTE}{found.label}/{asked.id}"
        books = Books(home, owner, Caps(), PriceBook(), around.modes)
        stack.push_async_callback(books.close)
        executor = Executor(home.trees, booked_models(books, models, owner), embedder)
        answer = await answer_query(asked, open_version(home, content, embedder), executor)
    record_routed(home, found.label, asked.id, answer)
    return RoutedQuery(found.label, found.members[answer.member], answer, asked.id, around.modes.strictest(settings))
