"""Replays: identical from the recording alone, and whatever was changed in it is named."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from evolve.campaign.observe import silent
from evolve.campaign.replay.play import Replayed, play
from evolve.campaign.replay.record import read_record
from evolve.campaign.replay.save import save_recording
from evolve.campaign.run import load_inputs, resume_campaign, start_campaign
from evolve.core.errors import BudgetExceeded, UserError, WorldError
from evolve.core.messages import ModelRequest
from evolve.store import Home, open_home
from tests.e2e.conftest import Project, write_project


def replayed(folder: Path) -> Replayed:
    return asyncio.run(play(folder, silent))


def run(project: Project, home: Home, scripts: dict[str, Any] | None = None) -> str:
    inputs = load_inputs(project.campaign, {}, scripts or project.scripts())
    return asyncio.run(start_campaign(inputs, home, silent, path=project.campaign)).campaign


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A promoted campaign of 120 cases with a custom scorer, recorded after its files were thrown away."""
    project = write_project(tmp_path_factory.mktemp("recorded") / "p", 120)
    scorers = project.folder / "scorers"
    scorers.mkdir()
    (scorers / "same.py").write_text("def score(output, expected):\n    return float(output == expected)\n")
    project.edit(scorer={"kind": "custom", "path": "scorers/same.py"})
    home = open_home(project.home, create=True)
    campaign = run(project, home)
    for path in ("cases.jsonl", "campaign.yaml", "scorers", "harness"):
        place = project.folder / path
        shutil.rmtree(place) if place.is_dir() else place.unlink()
    folder = project.folder.parent / "recording"
    save_recording(home, campaign, folder)
    home.close()
    return folder


@pytest.fixture
def copy(recording: Path, tmp_path: Path) -> Path:
    shutil.copytree(recording, tmp_path / "copy")
    return tmp_path / "copy"


def test_a_campaign_is_replayed_from_its_recording_alone(recording: Path) -> None:
    found = replayed(recording)
    assert found.difference == ""
    assert found.expected.conclusion == "promoted"
    assert found.expected.version is not None


def rewrite(folder: Path, change: Callable[[str, dict[str, Any]], dict[str, Any] | None]) -> None:
    """Changes or drops the first row that `change` wants otherwise."""
    path, done = folder / "rows.jsonl.gz", False
    lines = []
    for line in gzip.decompress(path.read_bytes()).splitlines():
        name, row = json.loads(line)
        wanted = row if done else change(name, dict(row))
        done = done or wanted != row
        if wanted is not None:
            lines.append(json.dumps([name, wanted]))
    assert done
    path.write_bytes(gzip.compress("\n".join(lines).encode() + b"\n"))


def test_a_call_that_is_gone_is_named(copy: Path) -> None:
    rewrite(copy, lambda name, row: None if name == "call_ends" else row)
    difference = replayed(copy).difference
    assert "role agent in loop baseline" in difference and "was never recorded" in difference


def test_a_changed_reply_shows_in_the_first_thing_it_changed(copy: Path) -> None:
    import base64
    import zlib

    def silence(name: str, row: dict[str, Any]) -> dict[str, Any]:
        if name != "call_ends" or row["reply"] is None:
            return row
        data = base64.b64decode(row["reply"]["base64"])
        reply = json.loads(zlib.decompress(data[1:]) if data[:1] == b"\x01" else data[1:])
        if "{" not in reply["text"]:
            return row
        packed = b"\x00" + json.dumps({**reply, "text": "no idea"}).encode()
        return {**row, "reply": {"base64": base64.b64encode(packed).decode()}}

    rewrite(copy, silence)
    assert "ledger row" in replayed(copy).difference


def test_a_changed_case_is_another_campaign(copy: Path) -> None:
    place = copy / "cases" / "cases.jsonl"
    rows = [json.loads(line) for line in place.read_text().splitlines()]
    rows = [{**row, "input": row["input"] + " please"} for row in rows]
    place.write_text("".join(json.dumps(row) + "\n" for row in rows))
    difference = replayed(copy).difference
    assert "data of small-1" in difference and "fingerprint was" in difference


def test_a_changed_scorer_is_noticed(copy: Path) -> None:
    (copy / "scorers" / "same.py").write_text("def score(output, expected):\n    return 0.5\n")
    assert "ledger row" in replayed(copy).difference


def test_a_changed_ending_is_noticed(copy: Path) -> None:
    expected = json.loads((copy / "expected.json").read_text())
    expected["version"] = "0" * 64
    (copy / "expected.json").write_text(json.dumps(expected))
    assert replayed(copy).difference.startswith("version was")


def test_saving_twice_gives_the_same_bytes_and_no_secret(tmp_path: Path) -> None:
    project = write_project(tmp_path / "p", 120)
    home = open_home(project.home, create=True)
    campaign = run(project, home)
    for name in ("one", "two"):
        save_recording(home, campaign, tmp_path / name)
    home.close()
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert files and all((tmp_path / "one" / f).read_bytes() == (tmp_path / "two" / f).read_bytes() for f in files)
    with pytest.raises(UserError, match="not a new or empty folder"):
        save_recording(open_home(project.home), campaign, tmp_path / "one")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return write_project(tmp_path / "p", 120)


@pytest.fixture
def home(project: Project) -> Iterator[Home]:
    opened = open_home(project.home, create=True)
    yield opened
    opened.close()


def test_a_second_campaign_needs_the_live_version_and_what_the_first_one_paid(
    project: Project, home: Home, tmp_path: Path
) -> None:
    run(project, home)
    second = run(project, home)
    save_recording(home, second, tmp_path / "recording")
    found = replayed(tmp_path / "recording")
    assert found.difference == ""
    assert read_record(tmp_path / "recording").campaign == second == "small-2"


def test_faults_and_time_outs_happen_again(project: Project, home: Home, tmp_path: Path) -> None:
    """A call that its run's time limit cut off, one that failed twice and one that always fails."""
    manifest = project.folder / "harness" / "harness.yaml"
    manifest.write_text(yaml.safe_dump({**yaml.safe_load(manifest.read_text()), "limits": {"timeout_seconds": 1}}))
    answer, failures = project.scripts()["desk"], {"s0": 2, "s2": 10**6}
    slow = next(row["input"] for row in project.rows if row["id"] == "r1")
    texts = {row["input"]: row["id"] for row in project.rows}

    def reply(request: ModelRequest, rng: random.Random) -> Any:
        name = texts[max(texts, key=request.messages[-1].content.rfind)]
        if failures.get(name, 0) > 0:
            failures[name] -= 1
            raise WorldError(f"503 for {name}", passing=name == "s0")
        return answer(request, rng)

    from evolve.models import ScriptedModel

    original = ScriptedModel.reply

    async def sometimes_slow(self: ScriptedModel, request: ModelRequest) -> Any:
        if request.messages[-1].content.rstrip().endswith(slow):
            await asyncio.sleep(3)
        return await original(self, request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScriptedModel, "reply", sometimes_slow)
        campaign = run(project, home, {"desk": reply})
    states = {row.state for row in home.journal.iter(campaign)}
    assert states == {"finished", "failed", "abandoned"}
    save_recording(home, campaign, tmp_path / "recording")
    assert replayed(tmp_path / "recording").difference == ""


def test_a_person_s_answer_is_given_again(project: Project, home: Home, tmp_path: Path) -> None:
    project.edit(approval="required")
    campaign = run(project, home)
    inputs = load_inputs(project.campaign, {}, project.scripts())
    asyncio.run(resume_campaign(campaign, inputs, home, silent, "deny"))
    save_recording(home, campaign, tmp_path / "recording")
    found = replayed(tmp_path / "recording")
    assert (found.difference, found.expected.conclusion) == ("", "denied")


def test_a_campaign_that_stopped_at_a_cap_is_replayed_up_to_there(project: Project, home: Home, tmp_path: Path) -> None:
    project.edit(budget={"calls": 110})
    with pytest.raises(BudgetExceeded):
        run(project, home)
    save_recording(home, "small-1", tmp_path / "recording")
    found = replayed(tmp_path / "recording")
    assert found.difference == ""
    assert any("ends where the campaign did: budget" in note for note in found.notes)


def test_a_campaign_that_kept_no_replies_is_refused_by_role(project: Project, home: Home, tmp_path: Path) -> None:
    project.edit(journal="hash")
    campaign = run(project, home)
    with pytest.raises(UserError, match="kept no replies of the role agent"):
        save_recording(home, campaign, tmp_path / "recording")


def test_a_folder_that_is_no_recording_or_of_a_later_form_is_refused(tmp_path: Path, copy: Path) -> None:
    with pytest.raises(UserError, match="no recording"):
        replayed(tmp_path)
    record = json.loads((copy / "record.json").read_text())
    (copy / "record.json").write_text(json.dumps({**record, "schema": 9}))
    with pytest.raises(UserError, match="form 9"):
        replayed(copy)
