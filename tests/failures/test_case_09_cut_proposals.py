"""Case 9: a proposal cut before its fence closes, an open think block, prose: refused as `format`, and booked."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest

from evolve.campaign.observe import silent
from evolve.campaign.run import load_inputs, start_campaign
from evolve.core.messages import ModelReply, ModelRequest, Usage
from evolve.store import Home, open_home
from tests.e2e.conftest import write_project

WHOLE = json.dumps(
    {
        "cause": "the answer is not JSON",
        "lever": "say so",
        "predicted_effect": "more valid answers",
        "refuted_by": "no change",
        "edits": [{"path": "prompts/answer.md", "content": "Answer as one JSON object.\n{input}\n"}],
    }
)
REPLIES = {
    "cut before the fence closes": f"Here is my patch:\n```json\n{WHOLE[:-30]}",
    "whole but the fence is open": f"```json\n{WHOLE}",
    "an open think block": f"<think>The prompt should say {WHOLE}",
    "prose only": "I would make the prompt friendlier and clearer.",
    "empty": "",
}


@pytest.mark.parametrize("name", REPLIES)
def test_it_is_refused_as_format_paid_for_and_changes_nothing(name: str, tmp_path: Path) -> None:
    project = write_project(tmp_path / "p", 120)
    project.edit(
        models={"agent": {"model": "scripted:desk"}, "proposer": {"model": "scripted:cut"}},
        loops={"harness": {"rounds": 1, "proposals": 1, "batch": 8, "proposers": ["model"]}},
        portfolio={"name": "small", "fit_cases": 20, "embedder": "fast"},
    )

    def cut(request: ModelRequest, rng: random.Random) -> ModelReply:
        return ModelReply(REPLIES[name], Usage(700, 90), "length")

    home = open_home(project.home, create=True)
    try:
        inputs = load_inputs(project.campaign, {}, {**project.scripts(), "cut": cut})
        outcome = asyncio.run(start_campaign(inputs, home, silent, path=project.campaign))
        (row,) = [r.detail for r in home.ledger.rows(outcome.campaign, "proposal")]
        assert (row["status"], row["kind"]) == ("refused", "format")
        spent = home.journal.spend_by(outcome.campaign, "role")["proposer"]
        assert (spent.calls, spent.usage) == (1, Usage(700, 90))
        assert live_files(home) == seed_files(project.folder / "harness")
    finally:
        home.close()


def live_files(home: Home) -> dict[str, bytes]:
    live = home.versions.pointer("small")
    assert live == 1
    content: Any = home.versions.get("small", live).content
    (member,) = content["members"]
    return home.trees.get(member["tree"])


def seed_files(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}
