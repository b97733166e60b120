"""Starting, resuming, approving and cancelling campaigns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from evolve.campaign.capable import require_capable_seed
from evolve.campaign.checkpoints import CHECKPOINTS
from evolve.campaign.concurrency import record_concurrency
from evolve.campaign.config import CampaignConfig, read_campaign
from evolve.campaign.context import CampaignContext, CampaignInputs, Material, open_context, read_material
from evolve.campaign.graph import StageStopped, build_graph
from evolve.campaign.identity import campaign_fingerprints, require_unchanged
from evolve.campaign.observe import Observer
from evolve.campaign.session import Session, open_session
from evolve.campaign.sources import keep_sources
from evolve.campaign.terms import record_terms
from evolve.core.errors import BudgetExceeded, UserError
from evolve.store import Home

ENDED = ("finished", "cancelled")


@dataclass(frozen=True)
class CampaignOutcome:
    """How a run of the process ended: `status` finished, waiting (for approval) or budget; `state` is the last one."""

    campaign: str
    status: str
    state: dict[str, Any]
    question: dict[str, Any] | None = None


def load_inputs(path: Path, environment: dict[str, str], scripted: Any = None) -> CampaignInputs:
    """The campaign file at `path` with its folder as root."""
    return CampaignInputs(read_campaign(path), path.resolve().parent, environment, scripted or {})


async def start_campaign(
    inputs: CampaignInputs, home: Home, observe: Observer, *, path: Path, campaign: str | None = None
) -> CampaignOutcome:
    """A new campaign, run to its end, to an approval, or to a reached cap (then BudgetExceeded).

    `campaign` is its id where that is given, as in a replay; else the next one of its name.
    """
    material = read_material(inputs, home)
    campaign = campaign or new_id(inputs.config, home)
    config = {"path": str(path.resolve()), "sources": keep_sources(inputs, home, path)}
    home.campaigns.create(campaign, config=config, fingerprints={})
    return await _drive(campaign, inputs, home, material, observe)


async def resume_campaign(
    campaign: str, inputs: CampaignInputs, home: Home, observe: Observer, answer: str | None = None
) -> CampaignOutcome:
    """Goes on where a campaign stopped; `answer` is what a person said to its approval question.

    Raises UserError when the campaign has ended, waits for an answer that is not given, or was started with other
    inputs.
    """
    row = home.campaigns.get(campaign)
    if row.status in ENDED:
        raise UserError(f"this campaign is {row.status}", place=f"campaign:{campaign}", fix="start a new one")
    material = read_material(inputs, home)
    return await _drive(campaign, inputs, home, material, observe, answer)


async def _drive(
    campaign: str, inputs: CampaignInputs, home: Home, material: Material, observe: Observer, answer: str | None = None
) -> CampaignOutcome:
    async with open_session(home, campaign) as session:
        time_left = _time_left(inputs.config, session)
        async with (
            open_context(campaign, inputs, home, material, observe, time_left) as context,
            _saver(home) as saver,
        ):
            _check_fingerprints(context)
            require_capable_seed(context)
            record_terms(context)
            graph = build_graph(context, saver)
            home.campaigns.set_journal(campaign, inputs.config.journal.model_dump(mode="json"))
            home.campaigns.set_status(campaign, "running")
            try:
                try:
                    state, question = await _invoke(graph, campaign, answer)
                finally:
                    record_concurrency(context)
                session.ended = "waiting" if question else "finished"
            except BudgetExceeded:
                session.ended = "budget"
                raise
            finally:
                home.campaigns.set_status(campaign, session.ended)
            return CampaignOutcome(campaign, session.ended, state, question)


def _time_left(config: CampaignConfig, session: Session) -> float | None:
    """Seconds of `budget.minutes` that earlier sessions have left; None without that cap."""
    minutes = config.budget.minutes
    return None if minutes is None else 60 * minutes - session.worked


async def _invoke(graph: Any, campaign: str, answer: str | None) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Runs the graph from its checkpoint; returns the state and the open question, if it waits for one."""
    config = {"configurable": {"thread_id": campaign}, "recursion_limit": 500}
    snapshot = await graph.aget_state(config)
    waiting = [i for task in snapshot.tasks for i in task.interrupts]
    if waiting and answer is None:
        return dict(snapshot.values), dict(waiting[0].value)
    start: Any = Command(resume=answer) if waiting else (None if snapshot.created_at else {"rounds_done": 0})
    try:
        await graph.ainvoke(start, config, durability="sync")
    except StageStopped as stopped:
        raise stopped.error from None
    snapshot = await graph.aget_state(config)
    open_questions = [i for task in snapshot.tasks for i in task.interrupts]
    return dict(snapshot.values), dict(open_questions[0].value) if open_questions else None


def _check_fingerprints(context: CampaignContext) -> None:
    """The first run records what the campaign was started with; every later one must agree."""
    identities = {f"models.{role}": model.identity for role, model in context.models.items()}
    identities["scorer"] = context.scorer.identity
    now = campaign_fingerprints(context.config, context.material.seed_tree, context.material.dataset_hash, identities)
    stored = context.home.campaigns.get(context.id).fingerprints
    if not stored:
        context.home.campaigns.set_fingerprints(context.id, now)
    else:
        require_unchanged(stored, now, context.id)


def new_id(config: CampaignConfig, home: Home) -> str:
    """`NAME-N`: the next free number of this campaign name in this home."""
    taken = {row.id for row in home.campaigns.list()}
    number = 1
    while f"{config.name}-{number}" in taken:
        number += 1
    return f"{config.name}-{number}"


@asynccontextmanager
async def _saver(home: Home) -> AsyncIterator[AsyncSqliteSaver]:
    """Checkpoints in their own SQLite file, in WAL mode with a busy time-out set by us."""
    async with AsyncSqliteSaver.from_conn_string(str(home.path / CHECKPOINTS)) as saver:
        await saver.conn.execute("PRAGMA journal_mode=WAL")
        await saver.conn.execute("PRAGMA busy_timeout=10000")
        yield saver
