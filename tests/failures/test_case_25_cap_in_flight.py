"""Case 25: the cap is reached inside a validation sweep with 8 calls in flight: no call beyond it, nothing is lost."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from evolve.books import Books, Caps, PriceBook, PriceOverride
from evolve.campaign.observe import silent
from evolve.campaign.roles import booked_models
from evolve.campaign.run import load_inputs, start_campaign
from evolve.core.cases import Case, Split
from evolve.core.errors import BudgetExceeded
from evolve.core.messages import Capability, ModelReply, ModelRequest, Usage
from evolve.evaluate.scorers import open_scorer
from evolve.evaluate.scorers.exact import ExactOptions
from evolve.evaluate.suite import Evaluation, Suite, SuiteSettings
from evolve.models import FixedSlots, OpenedModel
from evolve.run.execute import Executor
from evolve.store import Home, open_home
from tests.e2e.conftest import write_project

PRICE = PriceOverride(input_per_million=Decimal(10), output_per_million=Decimal(100))
USAGE = Usage(60, 20)
COST = Decimal(60 * 10 + 20 * 100) / 1_000_000


class Counting:
    """Answers after a moment; counts calls begun, in flight at most, and dollars it really charged."""

    identity = "openai:priced"
    capabilities: frozenset[Capability] = frozenset(Capability)

    def __init__(self) -> None:
        self.begun = self.flying = self.most = 0

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.begun += 1
        self.flying += 1
        self.most = max(self.most, self.flying)
        await asyncio.sleep(0.01)
        self.flying -= 1
        return ModelReply("yes", USAGE)

    async def close(self) -> None:
        """Nothing to end."""


def harness() -> dict[str, bytes]:
    params = {"prompt": "prompts/ask.md", "parse": "text", "max_tokens": 32}
    node = {"operator": "generate", "params": params, "next": "end"}
    return {
        "harness.yaml": yaml.safe_dump({"schema": 1, "name": "plain", "workflow": "workflow.yaml"}).encode(),
        "workflow.yaml": yaml.safe_dump({"schema": 1, "start": "answer", "nodes": {"answer": node}}).encode(),
        "prompts/ask.md": b"Answer with yes or no, in one word, whatever you are asked here: {input}",
    }


async def sweep(home: Home, caps: Caps, provider: Counting) -> Books:
    model = OpenedModel(provider, FixedSlots(8))
    books = Books(home, "c", caps, PriceBook({"openai:priced": PRICE}))
    executor = Executor(home.trees, booked_models(books, {"agent": model}, "c"), None)
    settings = SuiteSettings(campaign="c", models={"agent": model.identity}, concurrency=8)
    suite = Suite(executor, open_scorer(ExactOptions(), Path()), home.results, settings)
    cases = [Case(id=f"c{n}", input=f"question {n}", expected="yes") for n in range(60)]
    evaluation = Evaluation(home.trees.put(harness()), cases, Split.DEV, "screen")
    with pytest.raises(BudgetExceeded):
        await suite.evaluate(evaluation)
    return books


CAPS = {
    "calls": Caps(calls=21),
    "usd": Caps(usd=COST * 30),
    "tokens": Caps(tokens=80 * 30),
}


@pytest.mark.parametrize("name", CAPS)
async def test_no_call_starts_beyond_the_cap_and_what_was_paid_is_kept(name: str, home: Home) -> None:
    caps, provider = CAPS[name], Counting()
    books = await sweep(home, caps, provider)
    assert provider.most == 8
    assert books.spend().calls == provider.begun <= 30
    assert books.spend().usd == COST * provider.begun
    assert caps.usd is None or books.spend().usd <= caps.usd
    assert caps.tokens is None or books.spend().usage.total_tokens <= caps.tokens
    assert caps.calls is None or provider.begun == 21
    kept = [row for row in home.results.iter() if row.result.value == 1.0]
    assert len(kept) == provider.begun
    assert books.budget.reserved.calls == 0


async def test_a_raised_cap_pays_only_for_what_is_missing(home: Home) -> None:
    provider = Counting()
    await sweep(home, CAPS["calls"], provider)
    books = Books(home, "c", Caps(calls=60), PriceBook({"openai:priced": PRICE}))
    model = OpenedModel(provider, FixedSlots(8))
    executor = Executor(home.trees, booked_models(books, {"agent": model}, "c"), None)
    settings = SuiteSettings(campaign="c", models={"agent": model.identity}, concurrency=8)
    suite = Suite(executor, open_scorer(ExactOptions(), Path()), home.results, settings)
    cases = [Case(id=f"c{n}", input=f"question {n}", expected="yes") for n in range(60)]
    card = await suite.evaluate(Evaluation(home.trees.put(harness()), cases, Split.DEV, "screen"))
    assert card.mean() == 1.0
    assert provider.begun == 60


def test_a_partial_sweep_promotes_nothing(tmp_path: Path) -> None:
    project = write_project(tmp_path / "p", 160)
    home = open_home(project.home, create=True)
    whole = load_inputs(project.campaign, {}, project.scripts())
    asyncio.run(start_campaign(whole, home, silent, path=project.campaign))
    gate = [row.created_at for row in home.journal.iter("small-1") if row.loop == "gate"]
    before = sum(row.created_at < gate[0] for row in home.journal.iter("small-1"))
    home.close()

    other = write_project(tmp_path / "q", 160)
    other.edit(budget={"calls": before + len(gate) // 2})
    stopped = open_home(other.home, create=True)
    with pytest.raises(BudgetExceeded):
        asyncio.run(
            start_campaign(load_inputs(other.campaign, {}, other.scripts()), stopped, silent, path=other.campaign)
        )
    spent: dict[str, Any] = stopped.journal.spend_by("small-1", "loop")
    assert spent["gate"].calls > 0
    assert stopped.versions.pointer("small") == 1
    assert stopped.ledger.rows("small-1", "verdict") == []
    assert stopped.campaigns.get("small-1").status == "budget"
    stopped.close()
