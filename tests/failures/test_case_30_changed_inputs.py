"""Case 30: a resume after something changed is refused, with what it was and what it is; a new campaign is welcome."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

import evolve.campaign.identity as identity
from evolve.campaign.observe import silent
from evolve.campaign.run import load_inputs, resume_campaign, start_campaign
from evolve.core.errors import BudgetExceeded, UserError
from evolve.store import Home, open_home
from tests.e2e.conftest import Project, write_project

Change = Callable[[Project], None]


def edit_seed(project: Project) -> None:
    (project.folder / "harness" / "prompts" / "answer.md").write_text("Answer as JSON, please.\n{input}\n")


def edit_cases(project: Project) -> None:
    rows = [*project.rows, {"id": "new", "input": "a new one", "expected": {"team": "billing"}}]
    (project.folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def edit_expected(project: Project) -> None:
    rows = [{**row, "expected": {"team": "returns"}} if row["id"] == "r1" else row for row in project.rows]
    (project.folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


CHANGES: dict[str, tuple[Change, str]] = {
    "seed": (edit_seed, "seed harness"),
    "a new case": (edit_cases, "cases"),
    "an expected value": (edit_expected, "cases"),
    "scorer": (lambda p: p.edit(scorer={"kind": "json_fields", "partial": True}), "scorer.partial: false → true"),
    "model": (
        lambda p: p.edit(models={"agent": {"model": "scripted:desk", "seed": 7}}),
        "models.agent.seed: 0 → 7",
    ),
    "a new role": (
        lambda p: p.edit(models={"agent": {"model": "scripted:desk"}, "judge": {"model": "scripted:desk"}}),
        "models.judge.model: none → scripted:desk",
    ),
    "gate": (lambda p: p.edit(gate={"alpha": 0.1}), "gate.alpha: 0.05 → 0.1"),
}


@pytest.fixture
def stopped(tmp_path: Any) -> tuple[Project, Home, str]:
    """A campaign that its call cap stopped midway."""
    project = write_project(tmp_path / "small", 120)
    project.edit(budget={"calls": 60})
    home = open_home(project.home, create=True)
    with pytest.raises(BudgetExceeded):
        asyncio.run(start_campaign(inputs(project), home, silent, path=project.campaign))
    project.edit(budget={"calls": 20_000})
    return project, home, home.campaigns.list()[0].id


def inputs(project: Project) -> Any:
    return load_inputs(project.campaign, {}, project.scripts())


@pytest.mark.parametrize("name", CHANGES)
def test_a_resume_names_what_changed_and_spends_nothing(name: str, stopped: tuple[Project, Home, str]) -> None:
    project, home, campaign = stopped
    act, words = CHANGES[name]
    before = home.journal.spend_by(campaign, "role")
    act(project)
    with pytest.raises(UserError, match="started with something else") as refusal:
        asyncio.run(resume_campaign(campaign, inputs(project), home, silent))
    assert words in str(refusal.value)
    assert "without --resume" in str(refusal.value)
    assert home.journal.spend_by(campaign, "role") == before
    home.close()


def test_another_engine_version_is_named(stopped: tuple[Project, Home, str], monkeypatch: pytest.MonkeyPatch) -> None:
    project, home, campaign = stopped
    started = identity.__version__
    monkeypatch.setattr(identity, "__version__", "99.0.0")
    with pytest.raises(UserError, match=f"engine version: {started} → 99.0.0"):
        asyncio.run(resume_campaign(campaign, inputs(project), home, silent))
    home.close()


def test_what_cannot_change_the_result_may_change(stopped: tuple[Project, Home, str]) -> None:
    project, home, campaign = stopped
    project.edit(budget={"calls": 30_000, "minutes": 30}, approval="required", journal="hash")
    outcome = asyncio.run(resume_campaign(campaign, inputs(project), home, silent))
    assert outcome.status in ("waiting", "finished")
    home.close()


def test_a_new_campaign_on_the_changed_inputs_starts(stopped: tuple[Project, Home, str]) -> None:
    project, home, campaign = stopped
    edit_seed(project)
    outcome = asyncio.run(start_campaign(inputs(project), home, silent, path=project.campaign))
    assert outcome.campaign != campaign
    assert outcome.status == "finished"
    assert yaml.safe_load(project.campaign.read_text())["name"] == "small"
    home.close()
