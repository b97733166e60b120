"""Case 31: SIGKILL between a side effect and the checkpoint that would remember it: the effect happens once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from evolve.store import open_home
from evolve.store.tables import alpha_reservations, alpha_spends
from tests.e2e.conftest import write_project

ROOT = Path(__file__).resolve().parents[2]

DRIVER = """
import asyncio, os, signal, sys
from pathlib import Path
from evolve.campaign.observe import silent
from evolve.campaign.run import load_inputs, resume_campaign, start_campaign
from evolve.store import AlphaStore, GitTrees, Ledger, VersionStore, open_home
from tests.e2e.conftest import Project, make_rows
folder, effect, occurrence = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

def die_after(owner, name, chosen):
    act, seen = getattr(owner, name), [0]
    def acting(self, *arguments, **options):
        result = act(self, *arguments, **options)
        if chosen(arguments, options):
            seen[0] += 1
            if seen[0] == occurrence:
                os.kill(os.getpid(), signal.SIGKILL)
        return result
    setattr(owner, name, acting)

always = lambda arguments, options: True
if effect == "version": die_after(VersionStore, "commit_and_move", always)
if effect == "alpha": die_after(AlphaStore, "reserve", always)
if effect == "branch": die_after(GitTrees, "commit", always)
if effect == "verdict": die_after(Ledger, "append", lambda a, o: a[1] == "verdict")
if effect == "look": die_after(Ledger, "append", lambda a, o: a[1] == "heldout_look")
if effect == "conclusion": die_after(Ledger, "append", lambda a, o: a[1] == "conclusion")

project = Project(folder, make_rows(120))
home = open_home(project.home, create=True)
inputs = load_inputs(project.campaign, {}, project.scripts())
rows = home.campaigns.list()
work = resume_campaign(rows[0].id, inputs, home, silent) if rows else start_campaign(
    inputs, home, silent, path=project.campaign)
print(asyncio.run(work).state["conclusion"])
"""


def turn(folder: Path, effect: str, occurrence: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", DRIVER, str(folder), effect, str(occurrence)]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def effects(folder: Path) -> dict[str, Any]:
    home = open_home(folder / ".evolve")
    try:
        with home.database.read() as connection:
            spends = connection.execute(select(func.count(), func.sum(alpha_spends.c.alpha))).one()
            reservations = connection.execute(select(func.count()).select_from(alpha_reservations)).scalar_one()
        log = ["git", f"--git-dir={home.trees.path}", "log", "--format=%s", "small"]
        return {
            "versions": [(v.number, v.parent, v.content_hash) for v in home.versions.list("small")],
            "moves": [(m.before, m.after) for m in home.versions.pointer_log("small")],
            "alpha": (reservations, spends[0], round(spends[1], 12)),
            "branch": subprocess.run(log, capture_output=True, text=True, check=True).stdout.splitlines(),
            "rows": [
                (r.kind, r.subject, json.dumps(dict(r.detail).get("decision")))
                for r in home.ledger.rows()
                if r.kind in ("heldout_look", "verdict", "conclusion")
            ],
        }
    finally:
        home.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("whole") / "small"
    write_project(folder, 120)
    done = turn(folder, "none", 0)
    assert done.stdout.strip() == "promoted", done.stderr[-2000:]
    return effects(folder)


EFFECTS = [
    ("version", 1),
    ("version", 2),
    ("alpha", 1),
    ("branch", 1),
    ("branch", 2),
    ("look", 2),
    ("verdict", 1),
    ("conclusion", 1),
]


@pytest.mark.parametrize(("effect", "occurrence"), EFFECTS)
def test_the_effect_happens_once(effect: str, occurrence: int, tmp_path: Path, whole: dict[str, Any]) -> None:
    folder = tmp_path / "small"
    write_project(folder, 120)
    assert turn(folder, effect, occurrence).returncode == -9
    resumed = turn(folder, "none", 0)
    assert resumed.stdout.strip() == "promoted", resumed.stderr[-2000:]
    assert effects(folder) == whole
