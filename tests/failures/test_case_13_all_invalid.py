"""All proposals of a round structurally invalid: the campaign stops and says so."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path

from evolve.campaign.observe import silent
from evolve.campaign.run import load_inputs, start_campaign
from evolve.store import open_home

SPEC = importlib.util.spec_from_file_location("small_project", Path(__file__).parents[1] / "e2e" / "conftest.py")
assert SPEC and SPEC.loader
small = importlib.util.module_from_spec(SPEC)
sys.modules["small_project"] = small
SPEC.loader.exec_module(small)


def test_a_proposer_that_only_writes_prose_ends_the_campaign_with_its_reason(tmp_path: Path) -> None:
    project = small.write_project(tmp_path / "p", 120)
    project.edit(
        models={"agent": {"model": "scripted:desk"}, "proposer": {"model": "scripted:prose"}},
        loops={"harness": {"rounds": 3, "proposals": 2, "model_proposals": 2, "batch": 8, "proposers": ["model"]}},
        portfolio={"name": "small", "fit_cases": 20, "embedder": "fast"},
    )
    scripts = {**project.scripts(), "prose": lambda _request, _rng: "I would make the prompt friendlier."}
    home = open_home(project.home, create=True)
    try:
        outcome = asyncio.run(
            start_campaign(load_inputs(project.campaign, {}, scripts), home, silent, path=project.campaign)
        )
        assert outcome.state["conclusion"] == "nothing_found"
        assert "invalid" in outcome.state["why"]
        assert outcome.state["rounds_done"] == 1
        refused = [row.detail for row in home.ledger.rows(outcome.campaign, "proposal")]
        assert {row["kind"] for row in refused} == {"format"}
        assert home.journal.spend_by(outcome.campaign, "role")["proposer"].calls == 2
        assert home.versions.pointer("small") == 1
    finally:
        home.close()
