"""The workflow loop over several rounds: parents drawn by weight, told why, stopped early, the same every time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolve.campaign.config import WorkflowLoopSettings
from evolve.campaign.observe import silent
from evolve.campaign.run import CampaignOutcome, load_inputs, start_campaign
from evolve.report.story import campaign_story, story_lines
from evolve.store import Home, open_home
from tests.e2e.conftest import write_project
from workflows.diversify import parent_chances, weights


def run(folder: Path, loop: dict[str, Any]) -> tuple[Home, CampaignOutcome]:
    project = write_project(folder)
    project.edit(loops={"workflow": {"proposals": 4, "batch": 16, **loop}})
    home = open_home(project.home, create=True)
    inputs = load_inputs(project.campaign, {}, project.scripts())
    return home, asyncio.run(start_campaign(inputs, home, silent, path=project.campaign))


def rows(home: Home, campaign: str, kind: str) -> list[dict[str, Any]]:
    return [{**row.detail, "subject": row.subject} for row in home.ledger.rows(campaign, kind)]


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Any:
    home, outcome = run(tmp_path_factory.mktemp("searched"), {"rounds": 4, "early_stop": None})
    yield home, outcome
    home.close()


def test_after_the_first_round_parents_are_drawn_by_the_stated_chances(searched: Any) -> None:
    home, outcome = searched
    drawn = rows(home, outcome.campaign, "parent")
    assert [row["round"] for row in drawn] == [["workflow", n] for n in (1, 2, 3)]
    assert {row["phase"] for row in drawn} == {"complementarity"}
    for row in drawn:
        assert row["subject"] in row["chances"]
        assert sum(row["chances"].values()) == pytest.approx(1.0, abs=1e-3)
        expected = parent_chances(np.array(list(row["weights"].values())))
        assert list(row["chances"].values()) == pytest.approx(expected.tolist(), abs=1e-3)
    parents = {row["parent"] for row in rows(home, outcome.campaign, "proposal") if "parent" in row}
    assert {row["subject"] for row in drawn if row["subject"] in parents}


def test_the_story_tells_of_parents_and_coverage(searched: Any) -> None:
    home, outcome = searched
    lines = story_lines(campaign_story(home, outcome.campaign))
    assert sum("a parent drawn from" in line for line in lines) == 3
    assert any("solved by nobody" in line for line in lines)


def test_the_search_is_the_same_in_another_home(searched: Any, tmp_path: Path) -> None:
    home, outcome = searched
    other, again = run(tmp_path / "again", {"rounds": 4, "early_stop": None})
    try:
        for kind in ("parent", "proposal"):
            assert rows(home, outcome.campaign, kind) == rows(other, again.campaign, kind)
    finally:
        other.close()


def test_plain_diversity_and_a_long_warm_up_use_plain_weights(tmp_path: Path) -> None:
    for name, loop in (("plain", {"diversity": "plain"}), ("warm", {"warm_up": 9})):
        home, outcome = run(tmp_path / name, {"rounds": 3, "early_stop": None, **loop})
        try:
            assert {row["phase"] for row in rows(home, outcome.campaign, "parent")} == {"plain"}
        finally:
            home.close()


def test_rounds_that_raise_nothing_end_the_loop_and_say_so(tmp_path: Path) -> None:
    home, outcome = run(tmp_path, {"rounds": 9, "warm_up": 1, "early_stop": 0.4, "entries": ["retry"]})
    try:
        (stop,) = rows(home, outcome.campaign, "early_stop")
        assert "below early_stop 40 %" in stop["reason"]
        assert stop["round"] < 9
        assert outcome.state["conclusion"]
    finally:
        home.close()


def test_seven_of_thirty_rounds_warm_up() -> None:
    assert [WorkflowLoopSettings(rounds=n).warm_up_rounds for n in (1, 4, 30)] == [1, 1, 7]


def test_weights_prefer_what_the_pool_lacks() -> None:
    scores = np.array([[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 1]], float)
    assert weights(scores, complementary=True)[2] > weights(scores, complementary=False)[2]
