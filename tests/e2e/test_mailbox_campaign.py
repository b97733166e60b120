"""A campaign whose proposer is a mailbox: another process answers it, and it is killed while it waits and resumed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evolve.campaign.config import read_campaign
from evolve.campaign.observe import silent
from evolve.campaign.run import load_inputs, resume_campaign, start_campaign
from evolve.core.cases import Split
from evolve.core.errors import BudgetExceeded, WorldError
from evolve.data import load_cases, split_cases
from evolve.report.story import campaign_story
from evolve.store import open_home
from tests.e2e.conftest import Project, write_project

ROOT = Path(__file__).resolve().parents[2]
COUNT = 160
CAMPAIGN = """
import asyncio, sys
from pathlib import Path
from evolve.campaign.observe import silent
from evolve.campaign.run import load_inputs, resume_campaign, start_campaign
from evolve.store import open_home
from tests.e2e.conftest import Project, desk_script, make_rows
rows = make_rows(int(sys.argv[3]))
project, answer = Project(Path(sys.argv[1]), rows), desk_script(rows)
def reply(request, rng):
    with open(sys.argv[2], "ab", buffering=0) as out:
        out.write(b"call\\n")
    return answer(request, rng)
home = open_home(project.home, create=True)
inputs = load_inputs(project.campaign, {}, {"desk": reply})
known = home.campaigns.list()
if known:
    work = resume_campaign(known[0].id, inputs, home, silent)
else:
    work = start_campaign(inputs, home, silent, path=project.campaign)
print(asyncio.run(work).state["conclusion"])
"""
COACH = """
import json, os, sys
from pathlib import Path
box = Path(sys.argv[1])
for request in sorted((box / "requests").glob("*.json")):
    reply = box / "replies" / request.name
    if reply.exists():
        continue
    asked = json.loads(request.read_text(encoding="utf-8"))
    assert "FAILURES" in asked["messages"][-1]["content"]
    first = not any((box / "replies").glob("*.json"))
    shapes = "" if first else 'Like {"team": "x"} or {"team": "y"}, or {"total": 1} or {"total": 2}.'
    patch = {"cause": "no shape", "lever": "show it", "predicted_effect": "valid answers", "refuted_by": "no gain",
             "edits": [{"path": "prompts/answer.md", "content": f"Please answer as JSON. {shapes}\\n{{input}}\\n"}]}
    half = reply.with_suffix(".tmp")
    half.write_text(json.dumps({"text": json.dumps(patch), "model": "coach.py"}), encoding="utf-8")
    os.link(half, reply)
    half.unlink()
    print(request.stem)
"""
COACHED = {"rounds": 1, "proposals": 2, "batch": 16, "proposers": ["model"], "model_proposals": 2}


def coached(folder: Path, **coach: Any) -> Project:
    project = write_project(folder, COUNT)
    models = {"agent": {"model": "scripted:desk"}, "proposer": {"model": "mailbox:coach", **coach}}
    project.edit(models=models, loops={"harness": COACHED})
    return project


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def kill_when_waiting(process: subprocess.Popen[str], box: Path, requests: int) -> None:
    end = time.monotonic() + 60
    while len(list(box.glob("requests/*.json"))) < requests:
        assert process.poll() is None, process.communicate()[1][-3000:]
        assert time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def answer(box: Path) -> list[str]:
    out, err = start(COACH, box).communicate(timeout=30)
    assert not err
    return out.split()


def hidden_inputs(project: Project) -> list[str]:
    config = read_campaign(project.campaign)
    report = load_cases(project.folder / "cases.jsonl", config.data)
    dataset = split_cases(report.cases, config.data.split, name=config.name, origins=report.origins)
    return [case.text for split in (Split.DEV, Split.HELDOUT) for case in dataset[split]]


def test_killed_twice_while_it_waits_it_asks_and_pays_nothing_twice(tmp_path: Path) -> None:
    project, log = coached(tmp_path / "desk ü"), tmp_path / "calls.log"
    box = project.home / "mailbox" / "small-1" / "coach"
    answered = []
    for number in (1, 2):
        kill_when_waiting(start(CAMPAIGN, project.folder, log, COUNT), box, number)
        answered += answer(box)
    out, err = start(CAMPAIGN, project.folder, log, COUNT).communicate(timeout=120)
    assert out.strip() == "promoted", err[-3000:]

    requests = sorted(box.glob("requests/*.json"))
    assert sorted(answered) == [path.stem for path in requests]
    assert len(requests) == 2
    home = open_home(project.home)
    try:
        rows = list(home.journal.iter("small-1"))
        finished = [row for row in rows if row.state == "finished"]
        assert max(Counter(row.key for row in finished).values()) == 1
        assert sum(row.role == "proposer" for row in finished) == 2
        agent = [row for row in rows if row.role == "agent"]
        assert len(agent) == log.read_bytes().count(b"\n")
        assert {row.state for row in agent} == {"finished"}
        assert all(row.usd is None for row in finished if row.role == "proposer")
        sources = [row.detail["source"] for row in home.ledger.rows("small-1", "proposal")]
        assert sources == ["model", "model"]
        assert home.versions.pointer("small") == 2
        assert "unpriced" in json.dumps(campaign_story(home, "small-1"), default=str)
    finally:
        home.close()
    text = "".join(path.read_text(encoding="utf-8") for path in requests)
    assert [hidden for hidden in hidden_inputs(project) if hidden in text] == []


def run(project: Project) -> None:
    home = open_home(project.home, create=True)
    try:
        inputs = load_inputs(project.campaign, {}, project.scripts())
        known = home.campaigns.list()
        if known:
            asyncio.run(resume_campaign(known[0].id, inputs, home, silent))
        else:
            asyncio.run(start_campaign(inputs, home, silent, path=project.campaign))
    finally:
        home.close()


def test_a_late_answer_stops_the_campaign_resumably_and_a_reached_cap_can_be_raised(tmp_path: Path) -> None:
    project = coached(tmp_path / "desk", timeout_seconds=0.1, mailbox_requests=1)
    box = project.home / "mailbox" / "small-1" / "coach"
    with pytest.raises(WorldError, match=r"no answer within 0\.1 s") as late:
        run(project)
    assert late.value.exit_code == 3
    answer(box)
    with pytest.raises(BudgetExceeded, match="mailbox_requests") as full:
        run(project)
    assert full.value.exit_code == 4
    assert len(list(box.glob("requests/*.json"))) == 1
    models = {"agent": {"model": "scripted:desk"}, "proposer": {"model": "mailbox:coach", "timeout_seconds": 0.2}}
    project.edit(models=models)
    with pytest.raises(WorldError, match=r"no answer within 0\.2 s"):
        run(project)
    assert len(answer(box)) == 1
    run(project)
    assert len(list(box.glob("requests/*.json"))) == 2
