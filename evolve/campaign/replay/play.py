"""Playing a recording: the same campaign in an empty home, with nobody to ask."""

from __future__ import annotations

import tempfile
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evolve import __version__
from evolve.books import NotRecorded, RecordedModel, RecordedStop
from evolve.campaign.context import CampaignInputs, Recording
from evolve.campaign.observe import Observer
from evolve.campaign.replay.difference import first_difference
from evolve.campaign.replay.intact import first_change
from evolve.campaign.replay.record import (
    CAMPAIGN,
    HARNESS,
    ROWS,
    SECONDS,
    Expected,
    Record,
    read_expected,
    read_packed,
    read_record,
    read_rows,
)
from evolve.campaign.replay.save import outcome_of
from evolve.campaign.run import CampaignOutcome, load_inputs, resume_campaign, start_campaign
from evolve.core.errors import EvolveError, HeldoutSealed
from evolve.store import Home, open_home
from evolve.store.transfer import put_in

UNFINISHED = frozenset({"budget", "stopped", "running", "cancelled", "waiting"})
"""A campaign that was recorded so ends its replay where the recording ends."""


@dataclass(frozen=True)
class Replayed:
    """What a replay came to. `difference` is empty when it was identical; `notes` say what a reader should know."""

    record: Record
    expected: Expected
    difference: str
    notes: tuple[str, ...]


async def play(folder: Path, observe: Observer) -> Replayed:
    """Replays a recording in a home of its own, which is thrown away. UserError when the folder is no recording."""
    record, expected = read_record(folder), read_expected(folder)
    notes = []
    if record.engine != __version__:
        notes.append(f"recorded by engine {record.engine}, replayed by {__version__}")
    with (
        tempfile.TemporaryDirectory(prefix="evolve-replay-") as scratch,
        closing(open_home(Path(scratch) / "home", create=True)) as home,
    ):
        put_in(home, read_rows(folder / ROWS))
        ended = await _run(folder, record, expected, home, observe)
        found = outcome_of(home, record.campaign, record.portfolio)
    if ended is not None and not (isinstance(ended, NotRecorded | RecordedStop) and expected.status in UNFINISHED):
        difference = _told(folder, record, _stopped(ended, expected, found))
        return Replayed(record, expected, difference, tuple(notes))
    if expected.status in UNFINISHED:
        notes.append(f"the recording ends where the campaign did: {expected.status}")
        found = found.model_copy(update={"status": expected.status})
    return Replayed(record, expected, _told(folder, record, first_difference(expected, found)), tuple(notes))


def _told(folder: Path, record: Record, found: str) -> str:
    """The difference with what may have caused it before it: a changed recording, another engine."""
    changed = first_change(folder, record)
    if not found:
        return changed
    engine = f"engine {record.engine} recorded it, {__version__} replays it" if record.engine != __version__ else ""
    reply = changed if "reply of role" in changed else ""
    return "; ".join(filter(None, (engine, reply, found)))


def _stopped(ended: EvolveError, expected: Expected, found: Expected) -> str:
    """A replay that could not go on: what already differed before, or else what stopped it."""
    told = expected.model_copy(update={"ledger": expected.ledger[: len(found.ledger)]})
    same_end = found.model_copy(
        update={"status": expected.status, "conclusion": expected.conclusion, "version": expected.version}
    )
    return first_difference(told, same_end) or str(ended)


async def _run(folder: Path, record: Record, expected: Expected, home: Home, observe: Observer) -> EvolveError | None:
    """Runs to the end; what stopped it before, if anything did."""
    inputs = _inputs(folder, record)
    try:
        path = folder / CAMPAIGN
        outcome = await start_campaign(inputs, home, observe, path=path, campaign=record.campaign)
        if outcome.status == "waiting" and expected.status == "finished":
            await _answer(outcome, inputs, home, observe, expected)
    except HeldoutSealed:
        raise
    except EvolveError as error:
        return error
    return None


async def _answer(
    outcome: CampaignOutcome, inputs: CampaignInputs, home: Home, observe: Observer, expected: Expected
) -> None:
    """The person's answer is known by its effect."""
    answer = "deny" if expected.conclusion == "denied" else "approve"
    await resume_campaign(outcome.campaign, inputs, home, observe, answer)


def _inputs(folder: Path, record: Record) -> CampaignInputs:
    models: dict[str, Any] = {
        role: RecordedModel(who.identity, frozenset(who.capabilities)) for role, who in record.models.items()
    }
    inputs = load_inputs(folder / CAMPAIGN, {})
    config = inputs.config
    data = config.data.model_copy(update={"cases": record.cases})
    config = config.model_copy(update={"data": data, "harness": HARNESS})
    return replace(inputs, config=config, recording=Recording(models, read_packed(folder / SECONDS)))
