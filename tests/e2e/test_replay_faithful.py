"""Replays of what is easy to lose: how a call failed, what it cost, a scorer's files, what was changed later."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import random
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evolve.books import Books, Caps, Owner, PriceBook
from evolve.campaign.observe import silent
from evolve.campaign.replay.play import Replayed, play
from evolve.campaign.replay.save import save_recording
from evolve.campaign.run import load_inputs, resume_campaign, start_campaign
from evolve.core.errors import BudgetExceeded, EvolveError, UserError, WorldError
from evolve.core.messages import Message, ModelReply, ModelRequest, Usage
from evolve.core.traces import Spend
from evolve.models import OpenedModel, ScriptedModel
from evolve.models.retrying import RetryPolicy
from evolve.store import Home, open_home
from tests.e2e.conftest import Project, write_project

SECRET = "sk-ant-api03-" + "a1B2" * 22


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return write_project(tmp_path / "p", 120)


@pytest.fixture
def home(project: Project) -> Iterator[Home]:
    opened = open_home(project.home, create=True)
    yield opened
    opened.close()


def run(project: Project, home: Home, scripts: dict[str, Any] | None = None) -> str:
    inputs = load_inputs(project.campaign, {}, scripts or project.scripts())
    return asyncio.run(start_campaign(inputs, home, silent, path=project.campaign)).campaign


def replayed(home: Home, campaign: str, folder: Path) -> Replayed:
    save_recording(home, campaign, folder)
    return asyncio.run(play(folder, silent))


def test_a_proposer_that_failed_is_refused_in_the_same_words(project: Project, home: Home, tmp_path: Path) -> None:
    proposers = {"rounds": 1, "proposals": 3, "batch": 12, "proposers": ["catalog", "model"]}
    project.edit(
        models={"agent": {"model": "scripted:desk"}, "proposer": {"model": "scripted:broken"}},
        loops={"harness": proposers},
    )

    def broken(request: ModelRequest, rng: random.Random) -> str:
        raise WorldError("503 from the proposer", passing=False)

    campaign = run(project, home, {**project.scripts(), "broken": broken})
    assert any(row.detail.get("reason") == "503 from the proposer" for row in home.ledger.rows(campaign, "proposal"))
    assert replayed(home, campaign, tmp_path / "recording").difference == ""


@pytest.mark.parametrize(
    "error", [WorldError("401: the key is refused", passing=False, halts=True), UserError("it can never serve this")]
)
def test_what_stopped_a_campaign_at_the_end_of_a_stage_stops_its_replay(
    project: Project, home: Home, tmp_path: Path, error: EvolveError
) -> None:
    whole = write_project(tmp_path / "whole", 120)
    other = open_home(whole.home, create=True)
    last = sum(row.loop == "baseline" for row in other.journal.iter(run(whole, other)))
    other.close()
    answer, asked = project.scripts()["desk"], 0

    def reply(request: ModelRequest, rng: random.Random) -> str:
        nonlocal asked
        asked += 1
        if asked >= last:
            raise error
        return answer(request, rng)

    with pytest.raises(type(error)):
        run(project, home, {"desk": reply})
    found = replayed(home, "small-1", tmp_path / "recording")
    assert (found.difference, found.expected.status) == ("", "stopped")


def test_two_sessions_are_replayed_as_one(project: Project, home: Home, tmp_path: Path) -> None:
    project.edit(budget={"calls": 110})
    with pytest.raises(BudgetExceeded):
        run(project, home)
    project.edit(budget={"calls": 20000})
    inputs = load_inputs(project.campaign, {}, project.scripts())
    asyncio.run(resume_campaign("small-1", inputs, home, silent))
    found = replayed(home, "small-1", tmp_path / "recording")
    assert (found.difference, found.expected.conclusion) == ("", "promoted")


def test_a_call_that_was_lost_and_then_answered_costs_a_run_the_same_from_the_journal(home: Home) -> None:
    asked = 0

    def reply(request: ModelRequest, rng: random.Random) -> ModelReply:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise WorldError("the line went dead", maybe_billed=True)
        return ModelReply("yes", Usage(10, 2))

    model = OpenedModel(ScriptedModel("x", reply), retry=RetryPolicy(attempts=3, first_wait=0, jitter=0))

    async def spend() -> Spend:
        paid = model.booked(
            Books(home, "c", Caps(calls=9), PriceBook()), Owner("c", "gate", "tree", "case", 0, "agent")
        )
        await paid.reply(ModelRequest((Message("user", "well?"),)))
        return paid.spend

    first = asyncio.run(spend())
    assert first.calls == 2
    assert asyncio.run(spend()) == first
    assert asked == 2


def test_the_files_of_a_custom_scorer_are_in_the_recording(project: Project, home: Home, tmp_path: Path) -> None:
    (project.folder / "same.py").write_text("from sums import equal\n\ndef score(o, e):\n    return equal(o, e)\n")
    (project.folder / "sums.py").write_text("def equal(a, b):\n    return float(a == b)\n")
    project.edit(scorer={"kind": "custom", "path": "same.py", "files": ["sums.py"]})
    campaign = run(project, home)
    (project.folder / "sums.py").unlink()
    assert replayed(home, campaign, tmp_path / "recording").difference == ""


def test_what_a_comment_of_the_campaign_file_says_is_not_in_the_recording(
    project: Project, home: Home, tmp_path: Path
) -> None:
    project.campaign.write_text(project.campaign.read_text() + f"# {SECRET}\n")
    assert replayed(home, run(project, home), tmp_path / "recording").difference == ""
    packed = [p.read_bytes() for p in (tmp_path / "recording").rglob("*") if p.is_file()]
    plain = [gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data for data in packed]
    assert not any(SECRET.encode() in data for data in plain)


def test_replies_that_held_secrets_are_said_to_be_beyond_a_replay(project: Project, home: Home, tmp_path: Path) -> None:
    campaign = run(project, home, {"desk": lambda request, rng: f"the key is {SECRET}"})
    with pytest.raises(UserError, match="of the role agent held secrets"):
        save_recording(home, campaign, tmp_path / "recording")


def change(folder: Path, old: str, new: str, *, text_too: bool) -> None:
    """Changes the first reply `old`: its text to `new`, or only how long it took."""
    path = folder / "rows.jsonl.gz"
    rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    for _, row in rows:
        data = base64.b64decode(row["reply"]["base64"]) if row.get("reply") else b"\x00{}"
        reply = json.loads(zlib.decompress(data[1:]) if data[:1] == b"\x01" else data[1:])
        if reply.get("text") == old:
            reply = {**reply, "text": new} if text_too else {**reply, "seconds": 9.0}
            row["reply"] = {"base64": base64.b64encode(b"\x00" + json.dumps(reply).encode()).decode()}
            break
    path.write_bytes(gzip.compress(b"".join(json.dumps(row).encode() + b"\n" for row in rows), mtime=0))


@pytest.mark.parametrize(
    ("text_too", "named"), [(True, "reply of role agent in loop baseline"), (False, "rows.jsonl.gz was changed")]
)
def test_a_changed_reply_that_changes_no_score_is_noticed(
    project: Project, home: Home, tmp_path: Path, text_too: bool, named: str
) -> None:
    folder = tmp_path / "recording"
    save_recording(home, run(project, home), folder)
    change(folder, "no idea", "no idea!", text_too=text_too)
    assert named in asyncio.run(play(folder, silent)).difference


def test_another_engine_is_named_before_what_it_changed(project: Project, home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    save_recording(home, run(project, home), folder)
    for name, key, value in (("record.json", "engine", "0.0.1"), ("expected.json", "conclusion", "rejected")):
        document = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps({**document, key: value}))
    assert asyncio.run(play(folder, silent)).difference.startswith("engine 0.0.1 recorded it")
