"""Commands about campaigns: check, run, status, why, approve, deny, cancel."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from evolve.cli.output import JsonFlag, emit

CampaignFile = Annotated[Path, typer.Argument(help="The campaign file.")]
REQUIRED_EXIT = {"rejected": 10, "denied": 10, "nothing_found": 10, "indecisive": 11}


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    for command in (check, run, status, why, approve, deny, cancel):
        app.command()(command)


def check(campaign: CampaignFile, json_: JsonFlag = False) -> None:
    """Say what a campaign would cost and what its gate could detect. Spends nothing."""
    from dataclasses import asdict

    from evolve.campaign.context import read_material
    from evolve.campaign.plan import estimate
    from evolve.campaign.run import load_inputs
    from evolve.report.planned import plan_lines
    from evolve.store import open_home

    inputs = load_inputs(campaign, dict(os.environ))
    with closing(open_home(create=True, near=campaign)) as home:
        plan = estimate(inputs, home, read_material(inputs, home))
    document = asdict(plan)
    emit(json_, document, plan_lines(document))


def run(
    campaign: CampaignFile,
    resume: Annotated[str | None, typer.Option(help="Go on with this campaign instead of starting one.")] = None,
    require: Annotated[str | None, typer.Option(help="`promote`: exit 10 or 11 when nothing was promoted.")] = None,
    json_: JsonFlag = False,
) -> None:
    """Run a campaign: improve offline, prove on sealed cases, promote what passes."""
    from evolve.core.errors import UserError

    if require not in (None, "promote"):
        raise UserError(f"--require knows 'promote', not {require!r}", place="--require", fix="--require promote")
    outcome, story = drive(campaign, resume, None, quiet=json_)
    _finish(outcome, story, json_)
    if require and outcome.status == "finished":
        raise typer.Exit(REQUIRED_EXIT.get(outcome.state.get("conclusion", ""), 0))


def drive(
    campaign: Path, resume: str | None, answer: str | None, *, quiet: bool, home_path: Path | None = None
) -> tuple[Any, dict[str, Any]]:
    """Runs or resumes with progress on stderr; returns the outcome and the campaign's story.

    The home is `home_path`, or the one beside or above the campaign file.
    """
    import asyncio

    from evolve.campaign.run import load_inputs, resume_campaign, start_campaign
    from evolve.cli.progress import Progress
    from evolve.report.story import campaign_story
    from evolve.store import open_home

    inputs = load_inputs(campaign, dict(os.environ))
    with closing(open_home(home_path, create=True, near=campaign)) as home:
        with Progress(quiet=quiet, redactor=inputs.redactor) as progress:
            if resume is None:
                work = start_campaign(inputs, home, progress.observe, path=campaign)
            else:
                work = resume_campaign(resume, inputs, home, progress.observe, answer)
            outcome = asyncio.run(work)
        return outcome, {**campaign_story(home, outcome.campaign), "home": str(home.path)}


def _finish(outcome: Any, story: dict[str, Any], as_json: bool) -> None:
    from evolve.report.story import story_lines

    document = {**story, "waiting_for": outcome.question}
    lines = story_lines(story)
    if outcome.question:
        lines.append(f"Waiting: {outcome.question['question']} {outcome.question['evidence']}")
        lines.append(f"Answer with `evolve approve {outcome.campaign}` or `evolve deny {outcome.campaign}`.")
    lines.append(f"Kept in {story['home']}")
    emit(as_json, document, lines)


def status(
    campaign: Annotated[str | None, typer.Argument(help="A campaign id; all of them when left out.")] = None,
    spend: Annotated[
        str | None, typer.Option(help="What it spent, by purpose, role, loop, candidate, case or model.")
    ] = None,
    json_: JsonFlag = False,
) -> None:
    """Show all campaigns, the whole story of one, or what it spent."""
    from evolve.report.story import campaign_status, campaign_story, story_lines
    from evolve.store import open_home

    with closing(open_home()) as home:
        if spend is not None:
            _show_spend(home, campaign, spend, json_)
        elif campaign is None:
            rows = [{"campaign": r.id, "status": campaign_status(home, r.id)} for r in home.campaigns.list()]
            emit(json_, rows, [f"{r['campaign']:30} {r['status']}" for r in rows] or ["no campaigns yet"])
        else:
            story = campaign_story(home, campaign)
            emit(json_, story, story_lines(story))


def _show_spend(home: Any, campaign: str | None, part: str, as_json: bool) -> None:
    from evolve.core.errors import UserError
    from evolve.core.names import nearest
    from evolve.report.spending import PARTS, spend_document, spend_tables, table_lines

    if part not in PARTS:
        known = nearest(part, list(PARTS)) or ", ".join(PARTS)
        raise UserError(f"nothing is spent by {part!r}", place="--spend", fix=f"did you mean {known}?")
    if campaign is None:
        raise UserError("which campaign?", place="--spend", fix="evolve status ID --spend PART")
    home.campaigns.get(campaign)
    table = {n: spend_document(s) for n, s in spend_tables(home, campaign, [part])[part].items()}
    emit(as_json, {"campaign": campaign, "by": part, "spend": table}, table_lines(part, table))


def why(
    reference: Annotated[str, typer.Argument(help="A campaign id, NAME or NAME@N.")], json_: JsonFlag = False
) -> None:
    """Say why something is as it is: a campaign's story, or the evidence behind a version."""
    from evolve.report.why import why_reference
    from evolve.store import open_home

    with closing(open_home()) as home:
        document, lines = why_reference(home, reference)
        emit(json_, document, lines)


def approve(campaign: str, json_: JsonFlag = False) -> None:
    """Approve the promotion that a campaign waits for."""
    _answer(campaign, "approve", json_)


def deny(campaign: str, json_: JsonFlag = False) -> None:
    """Deny the promotion that a campaign waits for; live stays as it is."""
    _answer(campaign, "deny", json_)


def _answer(campaign: str, answer: str, as_json: bool) -> None:
    from evolve.core.errors import UserError
    from evolve.store import open_home

    with closing(open_home()) as home:
        row, place = home.campaigns.get(campaign), home.path
    if row.status != "waiting":
        raise UserError(f"campaign {campaign} is {row.status}, not waiting for approval", fix="see `evolve status`")
    outcome, story = drive(Path(str(row.config["path"])), campaign, answer, quiet=as_json, home_path=place)
    _finish(outcome, story, as_json)


def cancel(campaign: str, json_: JsonFlag = False) -> None:
    """End a campaign that is not running; what it measured stays."""
    from evolve.campaign.session import settle_dead
    from evolve.core.errors import UserError
    from evolve.store import open_home

    with closing(open_home()) as home:
        row = home.campaigns.get(campaign)
        if row.status in ("finished", "cancelled"):
            raise UserError(f"campaign {campaign} is already {row.status}")
        with home.campaigns.lock(campaign):
            settle_dead(home, campaign)
            home.campaigns.set_status(campaign, "cancelled")
        emit(json_, {"campaign": campaign, "status": "cancelled"}, [f"{campaign}: cancelled"])
