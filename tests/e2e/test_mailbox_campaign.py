"""A campaign whose proposer is a mailbox: killed while it waits, answered meanwhile, resumed, and asked only once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from evolve.store import open_home
from tests.e2e.conftest import write_project

ROOT = Path(__file__).resolve().parents[2]

DRIVER = """
import asyncio, sys
from pathlib import Path
from evolve.campaign.observe import silent
from evolve.campaign.run import load_inputs, resume_campaign, start_campaign
from evolve.store import open_home
from tests.e2e.conftest import Project, make_rows
project = Project(Path(sys.argv[1]), make_rows(120))
home = open_home(project.home, create=True)
inputs = load_inputs(project.campaign, {}, project.scripts())
rows = home.campaigns.list()
work = resume_campaign(rows[0].id, inputs, home, silent) if rows else start_campaign(
    inputs, home, silent, path=project.campaign)
print(asyncio.run(work).state["conclusion"])
"""

EXAMPLES = '{"team": "billing"} {"team": "shipping"} {"total": 7} {"total": 9}'
PATCH = {
    "cause": "no example is shown",
    "lever": "show the form of an answer",
    "predicted_effect": "more answers in JSON",
    "refuted_by": "no change",
    "edits": [{"path": "prompts/answer.md", "content": f"Answer as JSON, e.g. {EXAMPLES}\n{{input}}\n"}],
}


def drive(folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", DRIVER, str(folder)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def evolve(folder: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "EVOLVE_HOME": str(folder / ".evolve")}
    command = [sys.executable, "-m", "evolve.cli", "mailbox", *arguments]
    return subprocess.run(command, env=environment, input=stdin, capture_output=True, text=True, timeout=60)


def test_it_is_answered_by_files_alone_and_survives_a_kill(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    project = write_project(folder, 120)
    project.edit(
        models={"agent": {"model": "scripted:desk"}, "proposer": {"model": "mailbox:coach", "timeout_seconds": 60}},
        loops={"harness": {"rounds": 1, "proposals": 1, "batch": 8, "proposers": ["model"], "reply_tokens": 500}},
        portfolio={"name": "small", "fit_cases": 20, "embedder": "fast"},
    )
    child = drive(folder)
    requests = folder / ".evolve" / "mailbox" / "small-1" / "coach" / "requests"
    while not list(requests.glob("[!.]*.json")):
        assert child.poll() is None, child.communicate()[1][-2000:]
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    child.communicate()

    (row,) = json.loads(evolve(folder, "list", "--json").stdout)
    assert (row["campaign"], row["model"], row["claimed_by"]) == ("small-1", "mailbox:coach", None)
    claimed = evolve(folder, "claim", "--as", "ada")
    request = json.loads(claimed.stdout)
    assert request["id"] == row["id"]
    assert evolve(folder, "claim", "--as", "bob").returncode == 3
    wrong = evolve(folder, "answer", row["id"], "-", "--as", "ada", stdin='{"score": 1}')
    assert wrong.returncode == 2 and "reply.schema.json" in wrong.stderr
    reply = json.dumps(
        {"text": json.dumps(PATCH), "model": "a person", "usage": {"prompt_tokens": 900, "completion_tokens": 90}}
    )
    assert evolve(folder, "answer", row["id"], "-", "--as", "ada", stdin=reply).returncode == 0
    late = evolve(folder, "answer", row["id"], "-", "--as", "ada", stdin=reply)
    assert late.returncode == 2 and "already" in late.stderr

    out, err = drive(folder).communicate(timeout=120)
    assert out.strip() == "promoted", err[-2000:]
    assert [path.stem for path in requests.glob("[!.]*.json")] == [row["id"]], "nothing was asked twice"
    home = open_home(folder / ".evolve")
    calls = [call for call in home.journal.iter("small-1") if call.role == "proposer"]
    assert [call.state for call in calls] == ["abandoned", "finished"]
    assert calls[1].usage.total_tokens == 990 and calls[1].usd is None
    (proposal,) = home.ledger.rows("small-1", "proposal")
    assert proposal.detail["status"] == "accepted"
    home.close()


def test_a_request_shows_train_cases_and_nothing_sealed(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    project = write_project(folder, 120)
    project.edit(
        models={"agent": {"model": "scripted:desk"}, "proposer": {"model": "mailbox:coach", "timeout_seconds": 1}},
        loops={"harness": {"rounds": 1, "proposals": 1, "batch": 8, "proposers": ["model"]}},
        portfolio={"name": "small", "fit_cases": 20, "embedder": "fast"},
    )
    out, err = drive(folder).communicate(timeout=120)
    assert "requests are open" in err and out == ""
    text = next((folder / ".evolve" / "mailbox").rglob("requests/*.json")).read_text()
    shown = {row["id"] for row in project.rows if json.dumps(row["input"])[1:-1] in text}
    assert shown, "failures of train are quoted"
    from evolve.campaign.context import read_material
    from evolve.campaign.run import load_inputs

    home = open_home(folder / ".evolve")
    material = read_material(load_inputs(project.campaign, {}, project.scripts()), home)
    home.close()
    assert shown <= {case.id for case in material.train.fit}
