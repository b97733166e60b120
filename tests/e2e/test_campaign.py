"""A whole campaign on a scripted model: from seed to version, routed, explained, compared and rolled back."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from evolve.campaign.observe import silent
from evolve.campaign.publish import roll_back
from evolve.campaign.route import route_once
from evolve.campaign.run import CampaignOutcome, load_inputs, resume_campaign, start_campaign
from evolve.core.errors import BudgetExceeded, PointerMoved, UserError
from evolve.report.diff import diff_lines, diff_references
from evolve.report.story import campaign_story, story_lines
from evolve.store import Home, NewVersion, open_home


def run(project: Any, home: Home) -> CampaignOutcome:
    inputs = load_inputs(project.campaign, {}, project.scripts())
    return asyncio.run(start_campaign(inputs, home, silent, path=project.campaign))


def resume(project: Any, home: Home, campaign: str, answer: str | None = None) -> CampaignOutcome:
    inputs = load_inputs(project.campaign, {}, project.scripts())
    return asyncio.run(resume_campaign(campaign, inputs, home, silent, answer))


def agent_calls(home: Home, campaign: str) -> int:
    return sum(s.calls for s in home.journal.spend_by(campaign, "role").values())


@pytest.fixture
def home(project: Any) -> Any:
    opened = open_home(project.home, create=True)
    yield opened
    opened.close()


def test_a_real_gain_is_promoted_routed_explained_and_rolled_back(project: Any, home: Home) -> None:
    outcome = run(project, home)
    assert outcome.state["conclusion"] == "promoted"
    assert home.versions.pointer("small") == 2
    verdict = home.ledger.rows(outcome.campaign, "verdict")[0].detail
    assert verdict["gain_low"] > 0
    assert verdict["challenger_mean"] > verdict["baseline_mean"] + 0.3

    known = project.rows[1]
    routed = route_once(home, "small", known["input"], {}, project.scripts())
    assert routed.version == "small@2"
    assert routed.answer.decision.reason

    compared = diff_references(home, "small@1", "small@2")
    assert compared["behaviour"]["won"]
    assert not any(case.startswith("heldout") for case, _ in compared["behaviour"]["won"])
    assert any(line.startswith("+") for line in diff_lines(compared))

    row = roll_back(home, "small", 1, "test of the way back")
    assert row.number == 3
    assert home.versions.pointer("small") == 3
    assert home.versions.get("small", 3).content_hash == home.versions.get("small", 1).content_hash
    after = diff_references(home, "small@1", "small@3")
    assert after["members"] == {"removed": [], "added": [], "kept": after["members"]["kept"]}
    assert after["behaviour"]["won"] == after["behaviour"]["lost"] == []


def test_heldout_cases_are_in_no_report_and_no_behaviour(project: Any, home: Home) -> None:
    outcome = run(project, home)
    story = campaign_story(home, outcome.campaign)
    text = "\n".join(story_lines(story)) + json.dumps(story, default=str)
    text += json.dumps(diff_references(home, "small@1", "small@2"), default=str)
    shown = [row["id"] for row in project.rows if row["input"] in text]
    train_dev = {row.split(":")[0] for row in _visible_ids(project)}
    assert set(shown) <= train_dev


def _visible_ids(project: Any) -> set[str]:
    from evolve.campaign.config import read_campaign
    from evolve.core.cases import Split
    from evolve.data import load_cases, split_cases

    config = read_campaign(project.campaign)
    report = load_cases(project.folder / "cases.jsonl", config.data)
    dataset = split_cases(report.cases, config.data.split, report.origins, name=config.name)
    return {c.id for s in (Split.TRAIN, Split.DEV) for c in dataset[s]}


def test_the_same_campaign_in_another_home_ends_with_the_same_version_hash(project: Any, home: Home) -> None:
    run(project, home)
    other = open_home(project.folder / "other", create=True)
    try:
        run(project, other)
        assert other.versions.get("small", 2).content_hash == home.versions.get("small", 2).content_hash
    finally:
        other.close()


def test_a_second_campaign_pays_nothing_for_what_is_known_and_tests_at_half_the_level(project: Any, home: Home) -> None:
    first = run(project, home)
    second = run(project, home)
    assert agent_calls(home, second.campaign) < agent_calls(home, first.campaign) / 2
    assert second.state["conclusion"] in ("nothing_found", "rejected", "indecisive")
    assert home.versions.pointer("small") == 2


def test_approval_is_waited_for_and_a_denial_changes_nothing(project: Any, home: Home) -> None:
    project.edit(approval="required")
    outcome = run(project, home)
    assert outcome.status == "waiting"
    assert outcome.question is not None
    assert home.versions.pointer("small") == 1
    again = resume(project, home, outcome.campaign)
    assert again.status == "waiting"
    denied = resume(project, home, outcome.campaign, "deny")
    assert denied.state["conclusion"] == "denied"
    assert home.versions.pointer("small") == 1


def test_an_approved_promotion_becomes_live(project: Any, home: Home) -> None:
    project.edit(approval="required")
    outcome = run(project, home)
    assert resume(project, home, outcome.campaign, "approve").state["conclusion"] == "promoted"
    assert home.versions.pointer("small") == 2


def test_a_reached_call_cap_stops_before_the_next_call_and_a_raised_one_goes_on(project: Any, home: Home) -> None:
    project.edit(budget={"calls": 150})
    with pytest.raises(BudgetExceeded):
        run(project, home)
    campaign = home.campaigns.list()[0]
    assert campaign.status == "budget"
    assert agent_calls(home, campaign.id) == 150
    project.edit(budget={"calls": 20000})
    outcome = resume(project, home, campaign.id)
    assert outcome.state["conclusion"] == "promoted"


def test_resume_with_another_scorer_is_refused_by_name(project: Any, home: Home) -> None:
    project.edit(budget={"calls": 150})
    with pytest.raises(BudgetExceeded):
        run(project, home)
    project.edit(scorer={"kind": "json_fields", "partial": True})
    with pytest.raises(UserError, match="scorer"):
        resume(project, home, home.campaigns.list()[0].id)


def test_a_pointer_moved_by_somebody_else_during_the_campaign_is_told(project: Any, home: Home) -> None:
    project.edit(approval="required")
    outcome = run(project, home)
    seed = home.versions.get("small", 1)
    new = NewVersion("small", seed.content, {"kind": "test"}, 1, "somebody else", key="other")
    home.versions.commit_and_move(new, expected=1)
    with pytest.raises(PointerMoved):
        resume(project, home, outcome.campaign, "approve")
    assert home.versions.pointer("small") == 2
    assert len(home.versions.list("small")) == 2


def test_guards_of_the_campaign_file_are_tested_and_reported(project: Any, home: Home) -> None:
    guards = [
        {"measure": "score", "slice": "kind=routing", "margin": 0.3, "mode": "harm_only"},
        {"measure": "score", "slice": "kind=poems", "margin": 0.05},
        {"measure": "tokens", "margin": 9.0, "cap": 100_000},
    ]
    project.edit(gate={"alpha": 0.05, "guards": guards})
    outcome = run(project, home)
    verdict = home.ledger.rows(outcome.campaign, "verdict")[0].detail
    states = {guard["name"]: guard["state"] for guard in verdict["guards"]}
    assert states["score[kind=routing]"] == "passed"
    assert states["score[kind=poems]"] == "off"
    assert any("kind=poems" in note for note in verdict["notes"])
    assert "OFF" in "\n".join(story_lines(campaign_story(home, outcome.campaign)))


def test_a_guard_that_is_broken_stops_the_promotion(project: Any, home: Home) -> None:
    project.edit(gate={"alpha": 0.05, "guards": [{"measure": "tokens", "margin": 0.05, "cap": 2_000}]})
    outcome = run(project, home)
    assert outcome.state["conclusion"] in ("rejected", "indecisive")
    assert home.versions.pointer("small") == 1
    verdict = home.ledger.rows(outcome.campaign, "verdict")[0].detail
    assert verdict["guards"][0]["state"] in ("harmed", "open")
