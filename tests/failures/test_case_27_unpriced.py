"""Case 27: a model without a price in the mix: "≥ $x, n calls unpriced"; a dollar cap needs a price or a call cap."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evolve.books import Books, Caps, Owner, PriceBook, PriceOverride
from evolve.campaign.context import CampaignInputs, read_material
from evolve.campaign.plan import estimate
from evolve.campaign.run import load_inputs
from evolve.core.errors import UserError
from evolve.core.messages import Message, ModelReply, ModelRequest, Usage
from evolve.models import ScriptedModel
from evolve.report.planned import plan_lines
from evolve.report.spending import spend_document, spend_tables, spend_words
from evolve.store import Home, open_home
from tests.e2e.conftest import write_project

UNPRICED = {"model": "openai:homemade-9b", "base_url": "http://127.0.0.1:1/v1"}


def answer(request: ModelRequest, rng: random.Random) -> ModelReply:
    return ModelReply("x", Usage(1000, 100))


class Named(ScriptedModel):
    """A scripted model that goes by another provider's name."""

    def __init__(self, identity: str) -> None:
        super().__init__("x", answer)
        self._identity = identity

    @property
    def identity(self) -> str:
        return self._identity


async def test_a_mixed_sum_is_a_lower_bound_and_says_how_many_calls_have_no_price(home: Home) -> None:
    books = Books(home, "c", Caps(calls=10), PriceBook())
    for name, role in (("openai:gpt-4o-mini", "agent"), ("openai:homemade-9b", "judge"), ("openai:homemade-9b", "x")):
        await books.model(Named(name), Owner("c", "l", "t", "case", 0, role)).reply(
            ModelRequest((Message("user", "q" * 2000),))
        )
    total = books.spend()
    assert total.usd == Decimal("0.00021")
    assert spend_words(spend_document(total)) == "3 calls, 3,300 tokens, ≥ $0.00021000, 2 calls unpriced"
    table = spend_tables(home, "c", ["role"])["role"]
    assert spend_document(table["judge"])["at_least"] is True
    assert any("lower bound" in note for note in books.notes())


def inputs(tmp_path: Path, **budget: Any) -> tuple[CampaignInputs, Home]:
    project = write_project(tmp_path / "p", 120)
    project.edit(
        models={"agent": {"model": "scripted:desk"}, "proposer": UNPRICED},
        loops={"harness": {"rounds": 1, "proposals": 2, "batch": 8, "proposers": ["catalog", "model"]}},
        budget=budget,
        portfolio={"name": "small", "fit_cases": 20, "embedder": "fast"},
    )
    return load_inputs(project.campaign, {}, project.scripts()), open_home(project.home, create=True)


def test_check_refuses_a_dollar_cap_on_an_unpriced_model_and_names_both_ways_out(tmp_path: Path) -> None:
    asked, home = inputs(tmp_path, usd=1)
    with pytest.raises(UserError, match="homemade-9b") as refusal:
        estimate(asked, home, read_material(asked, home))
    assert "budget.prices" in str(refusal.value) and "budget.calls" in str(refusal.value)
    home.close()


def test_a_call_cap_beside_it_is_enough_and_the_plan_says_what_is_unpriced(tmp_path: Path) -> None:
    asked, home = inputs(tmp_path, usd=1, calls=5000)
    from dataclasses import asdict

    lines = "\n".join(plan_lines(asdict(estimate(asked, home, read_material(asked, home)))))
    assert "openai:homemade-9b unpriced, so dollars are a lower bound" in lines
    home.close()


def test_a_stated_price_is_enough(tmp_path: Path) -> None:
    stated = {"openai:homemade-9b": {"input_per_million": 2, "output_per_million": "3.5"}}
    asked, home = inputs(tmp_path, usd=1, prices=stated)
    estimate(asked, home, read_material(asked, home))
    assert isinstance(asked.config.budget.prices["openai:homemade-9b"], PriceOverride)
    books = Books(home, "c", Caps(usd=Decimal(1)), PriceBook(asked.config.budget.prices))
    books.model(Named("openai:homemade-9b@http://127.0.0.1:1/v1"), Owner("c", "l", "t", "case", 0, "proposer"))
    assert books.prices.price("openai:homemade-9b@http://127.0.0.1:1/v1", Usage(1_000_000, 1_000_000)) == Decimal("5.5")
    home.close()
