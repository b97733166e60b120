"""A model that cannot do what a tree asks for is told before anything is spent, and never mid-way."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
import yaml

from evolve.campaign.context import CampaignContext, open_context, read_material
from evolve.campaign.loops.sieve import Refused, Sieve
from evolve.campaign.observe import silent
from evolve.campaign.run import load_inputs, start_campaign
from evolve.core.errors import UserError
from evolve.core.messages import Capability
from evolve.models import ScriptedModel
from evolve.store import open_home
from harnesses.leak import build_leak_index
from harnesses.patch import Patch
from harnesses.proposal import Hypothesis, Proposal

CHOOSING = {
    "schema": 1,
    "start": "answer",
    "nodes": {
        "answer": {
            "operator": "choose",
            "params": {"prompt": "prompts/answer.md", "labels": ["billing", "shipping", "returns"]},
            "next": "end",
        }
    },
}


def plain_chat(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scripted model that stands for a provider without label probabilities."""
    monkeypatch.setattr(ScriptedModel, "capabilities", frozenset({Capability.JSON_SCHEMA}))


def test_a_seed_that_needs_labels_is_refused_before_a_call(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_chat(monkeypatch)
    (project.folder / "harness" / "workflow.yaml").write_text(yaml.safe_dump(CHOOSING))
    home = open_home(project.home, create=True)
    inputs = load_inputs(project.campaign, {}, project.scripts())
    with pytest.raises(UserError, match="choose needs labels, which the model of role 'agent' lacks"):
        asyncio.run(start_campaign(inputs, home, silent, path=project.campaign))
    assert list(home.journal.iter(home.campaigns.list()[0].id)) == []
    home.close()


def test_a_proposal_that_needs_labels_is_refused_as_check(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_chat(monkeypatch)
    home = open_home(project.home, create=True)
    inputs = load_inputs(project.campaign, {}, project.scripts())

    async def sift() -> Any:
        material = read_material(inputs, home)
        async with open_context("small-1", inputs, home, material, silent) as context:
            return _sieved(context)

    found = asyncio.run(sift())
    assert isinstance(found, Refused)
    assert found.kind == "check" and "needs labels" in found.reason
    home.close()


def _sieved(context: CampaignContext) -> Any:
    parent = context.home.trees.get(context.material.seed_tree)
    files = {**parent, "workflow.yaml": json.dumps(CHOOSING).encode()}
    proposal = Proposal(files, Patch(()), Hypothesis("cause", "lever", "effect", "refuted"), "model")
    return Sieve(context, parent, (), build_leak_index((), (), labels=set())).sift(proposal)
