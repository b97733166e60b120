"""Uncommitted and untracked files in a project folder: a campaign, its failure and a rollback leave them alone."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from evolve.campaign.observe import silent
from evolve.campaign.publish import roll_back
from evolve.campaign.run import load_inputs, start_campaign
from evolve.core.errors import BudgetExceeded
from evolve.store import open_home

SPEC = importlib.util.spec_from_file_location("user_project", Path(__file__).parents[1] / "e2e" / "conftest.py")
assert SPEC and SPEC.loader
small = importlib.util.module_from_spec(SPEC)
sys.modules["user_project"] = small
SPEC.loader.exec_module(small)


def snapshot(folder: Path) -> dict[str, bytes]:
    files = [p for p in folder.rglob("*") if p.is_file() and ".evolve" not in p.parts]
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


def test_the_users_files_and_repository_are_untouched(tmp_path: Path) -> None:
    project = small.write_project(tmp_path / "mine", 160)
    git = ["git", "-C", str(project.folder), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "campaign.yaml"], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    (project.folder / "campaign.yaml").write_text((project.folder / "campaign.yaml").read_text() + "# my note\n")
    (project.folder / "untracked.txt").write_text("mine")
    project.edit(budget={"calls": 90})
    before = snapshot(project.folder)
    home = open_home(project.home, create=True)
    try:
        inputs = load_inputs(project.campaign, {}, project.scripts())
        with pytest.raises(BudgetExceeded):
            asyncio.run(start_campaign(inputs, home, silent, path=project.campaign))
        roll_back(home, "small", 1, "after a failed campaign")
        assert snapshot(project.folder) == before
        status = subprocess.run([*git, "status", "--porcelain"], check=True, capture_output=True, text=True).stdout
        assert ".evolve" not in status
    finally:
        home.close()
