"""Case 24: a budget that affords the baseline and little more: `check` warns, the report says how much was afforded."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from evolve.campaign.context import read_material
from evolve.campaign.observe import silent
from evolve.campaign.plan import estimate
from evolve.campaign.run import load_inputs, start_campaign
from evolve.core.errors import BudgetExceeded
from evolve.report.story import campaign_story, story_lines
from evolve.store import Home, open_home
from tests.e2e.conftest import Project, write_project


@pytest.fixture
def small(tmp_path: Path) -> Any:
    project = write_project(tmp_path / "p", 120)
    home = open_home(project.home, create=True)
    yield project, home
    home.close()


def baseline_calls(project: Project, home: Home) -> int:
    inputs = load_inputs(project.campaign, {}, project.scripts())
    return estimate(inputs, home, read_material(inputs, home)).runs["baseline"]


def test_check_says_what_the_budget_affords_beyond_the_baseline(small: Any) -> None:
    project, home = small
    base = baseline_calls(project, home)
    project.edit(budget={"calls": base + 10})
    inputs = load_inputs(project.campaign, {}, project.scripts())
    (warning,) = [w for w in estimate(inputs, home, read_material(inputs, home)).warnings if "budget.calls" in w]
    assert f"after the baseline's {base} calls it affords about 10 more runs" in warning


def test_the_report_says_how_many_proposals_were_afforded_and_how_to_go_on(small: Any) -> None:
    project, home = small
    project.edit(budget={"calls": baseline_calls(project, home) + 10})
    inputs = load_inputs(project.campaign, {}, project.scripts())
    with pytest.raises(BudgetExceeded, match="calls cap"):
        asyncio.run(start_campaign(inputs, home, silent, path=project.campaign))
    (campaign,) = home.campaigns.list()
    story = campaign_story(home, campaign.id)
    tried = [row for row in story["proposals"] if "tree" in row]
    lines = story_lines(story)
    assert f"The budget afforded {len(tried)} tried proposals; raise a cap in `budget` and resume to go on." in lines
    assert len(tried) < 10
    assert home.versions.pointer("small") == 1
