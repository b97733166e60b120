"""Case 23: scorer or expected values change between campaigns: the live version is measured again, the rest is not."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from evolve.campaign.observe import silent
from evolve.campaign.run import load_inputs, start_campaign
from evolve.core.messages import ModelRequest
from evolve.store import Home, open_home
from tests.e2e.conftest import Project, write_project


@pytest.fixture
def promoted(tmp_path: Path) -> Iterator[tuple[Project, Home]]:
    project = write_project(tmp_path / "p", 120)
    home = open_home(project.home, create=True)
    assert run(project, home) == "promoted"
    yield project, home
    home.close()


def run(project: Project, home: Home) -> str:
    """With an agent that is often wrong and never unreadable: results of faults are for one campaign only."""
    answer = project.scripts()["desk"]

    def readable(request: ModelRequest, rng: random.Random) -> str:
        return str(answer(request, rng)).replace("no idea", '{"nothing": 0}')

    inputs = load_inputs(project.campaign, {}, {"desk": readable})
    return str(asyncio.run(start_campaign(inputs, home, silent, path=project.campaign)).state["conclusion"])


def seed_runs(home: Home, campaign: str) -> set[str]:
    """Case fingerprints on which the seed was run, and paid for, in a campaign's baseline."""
    return {row.case for row in home.journal.iter(campaign) if row.loop == "baseline"}


def test_unchanged_data_and_scorer_are_not_paid_again(promoted: tuple[Project, Home]) -> None:
    project, home = promoted
    run(project, home)
    assert seed_runs(home, "small-2") == set()


def test_another_scorer_measures_everything_again(promoted: tuple[Project, Home]) -> None:
    project, home = promoted
    project.edit(scorer={"kind": "json_fields", "partial": True})
    run(project, home)
    assert seed_runs(home, "small-2") == seed_runs(home, "small-1")


def test_only_cases_whose_expected_value_changed_are_measured_again(promoted: tuple[Project, Home]) -> None:
    project, home = promoted
    before = seed_runs(home, "small-1")
    rows = [
        {**row, "expected": {"team": "returns"}} if row["id"] in ("r1", "r3", "r7") else row for row in project.rows
    ]
    (project.folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run(project, home)
    again = seed_runs(home, "small-2")
    assert len(again) <= 3 and not again & before, "a changed case has another fingerprint"


def test_the_live_version_is_measured_on_the_changed_cases(promoted: tuple[Project, Home]) -> None:
    """Every heldout case expects something else: whatever the gate compares with was run under the new fingerprints."""
    project, home = promoted
    rows = [{**row, "expected": {**row["expected"], "checked": True}} for row in project.rows]
    (project.folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run(project, home)
    live = {row.case for row in home.journal.iter("small-2") if row.loop in ("baseline", "gate")}
    old = {row.case for row in home.journal.iter("small-1")}
    assert live and not live & old
