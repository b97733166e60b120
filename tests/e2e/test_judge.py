"""A judge as scorer: it grades by its rubric, its calls are booked apart, and members never see its model."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest

from evolve.campaign.observe import silent
from evolve.campaign.run import load_inputs, start_campaign
from evolve.core.errors import UserError
from evolve.core.messages import ModelRequest
from evolve.store import Home, open_home

RUBRIC = "the object must equal the expected one"


def grade(request: ModelRequest, rng: random.Random) -> str:
    """An honest judge: compares what stands between the marks."""
    text = request.messages[1].content
    expected = text.split("<<<expected\n")[1].split("\nexpected>>>")[0]
    found = text.split("<<<answer\n")[1].split("\nanswer>>>")[0]
    return json.dumps({"reason": "compared", "score": float(found == expected)})


@pytest.fixture
def home(project: Any) -> Any:
    opened = open_home(project.home, create=True)
    yield opened
    opened.close()


def test_a_judged_campaign_promotes_and_books_the_judge_apart(project: Any, home: Home) -> None:
    project.edit(
        scorer={"kind": "judge", "rubric": RUBRIC},
        models={"agent": {"model": "scripted:desk"}, "judge": {"model": "scripted:grade"}},
    )
    scripts = {**project.scripts(), "grade": grade}
    inputs = load_inputs(project.campaign, {}, scripts)
    outcome = asyncio.run(start_campaign(inputs, home, silent, path=project.campaign))
    assert outcome.state["conclusion"] == "promoted"
    spent = home.journal.spend_by(outcome.campaign, "role")
    assert set(spent) == {"agent", "judge"}
    # A run whose answer could not be read is a fault that scores 0 by itself: nobody asks the judge.
    assert 0 < spent["judge"].calls < spent["agent"].calls
    content: Any = home.versions.get("small", 2).content
    assert set(content["models"]) == {"agent"}


def test_a_judge_without_a_model_is_refused_before_anything_is_spent(project: Any) -> None:
    project.edit(scorer={"kind": "judge", "rubric": RUBRIC})
    with pytest.raises(UserError, match=r"models\.judge"):
        load_inputs(project.campaign, {}, project.scripts())
