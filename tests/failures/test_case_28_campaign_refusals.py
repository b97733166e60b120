"""Case 28: a campaign whose provider refuses. Short waits are waited, long ones and refused accounts stop it resumably,
and a request that is refused for good is a missing case: neither scored nor asked again."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evolve.campaign.run import CampaignOutcome, load_inputs, resume_campaign, start_campaign
from evolve.core.errors import WorldError
from evolve.store import Home, open_home
from tests.models.refusing_server import Refusal, Refuse, RefusingServer, serving, welcome

SPEC = importlib.util.spec_from_file_location("refused_project", Path(__file__).parents[1] / "e2e" / "conftest.py")
assert SPEC and SPEC.loader
small = importlib.util.module_from_spec(SPEC)
sys.modules["refused_project"] = small
SPEC.loader.exec_module(small)

ROWS = small.make_rows(90)
KNOWN = {row["input"]: row["expected"] for row in ROWS}
LOOP = {"rounds": 1, "proposals": 1, "batch": 8, "entries": ["self_consistency"]}


def script(prompt: str, rng: random.Random) -> str:
    """Right with 0.95 when the prompt shows an answer of the same form, else with 0.2."""
    expected = next((value for text, value in KNOWN.items() if text in prompt[-400:]), None)
    if expected is None:
        return "?"
    shown = prompt.replace(" ", "").count("{" + json.dumps(next(iter(expected)))) >= 2
    return json.dumps(expected) if rng.random() < (0.95 if shown else 0.2) else "no idea"


@dataclass(frozen=True)
class End:
    """What must not depend on refusals."""

    version: str
    verdict: dict[str, Any]
    answered: Counter[str]


class Bench:
    """One project, its home and its provider."""

    def __init__(self, server: RefusingServer, home: Home, project: Any) -> None:
        self.server, self.home, self.project = server, home, project
        self.notes: list[str] = []

    def observe(self, event: str, **fields: Any) -> None:
        if event == "note":
            self.notes.append(fields["text"])

    def run(self) -> CampaignOutcome:
        inputs = load_inputs(self.project.campaign, {})
        return asyncio.run(start_campaign(inputs, self.home, self.observe, path=self.project.campaign))

    def resume(self) -> CampaignOutcome:
        inputs = load_inputs(self.project.campaign, {})
        return asyncio.run(resume_campaign(self.campaign, inputs, self.home, self.observe))

    @property
    def campaign(self) -> str:
        return self.home.campaigns.list()[0].id

    @property
    def status(self) -> str:
        return self.home.campaigns.get(self.campaign).status

    def end(self) -> End:
        version = self.home.versions.get("small", self.home.versions.pointer("small") or 0)
        verdict = dict(self.home.ledger.rows(self.campaign, "verdict")[0].detail)
        return End(version.content_hash, verdict, Counter(self.server.answered))

    def concurrency(self) -> dict[str, Any]:
        return dict(self.home.ledger.rows(self.campaign, "concurrency")[-1].detail["agent"])


@pytest.fixture(scope="module")
def server() -> Iterator[RefusingServer]:
    """One for all, because its address is part of what a version's hash says."""
    with serving(RefusingServer(script)) as running:
        yield running


@contextmanager
def bench(folder: Path, server: RefusingServer, refuse: Refuse = welcome) -> Iterator[Bench]:
    server.begin(refuse)
    project = small.write_project(folder, 90)
    project.edit(
        models={"agent": {"model": "openai:m", "base_url": server.address, "concurrency": 8}},
        loops={"harness": LOOP},
        portfolio={"name": "small", "fit_cases": 14, "dev_cases": 8, "embedder": "fast"},
    )
    with closing(open_home(project.home, create=True)) as home:
        yield Bench(server, home, project)


@pytest.fixture(scope="module")
def undisturbed(server: RefusingServer, tmp_path_factory: pytest.TempPathFactory) -> End:
    with bench(tmp_path_factory.mktemp("undisturbed") / "p", server) as quiet:
        assert quiet.run().state["conclusion"] == "promoted"
        assert set(server.answered.values()) == {1}
        assert sum(server.answered.values()) > 250
        return quiet.end()


def test_scattered_refusals_with_and_without_a_wait_change_neither_version_nor_verdict(
    server: RefusingServer, undisturbed: End, tmp_path: Path
) -> None:
    places = random.Random(28).sample(range(20, 250), 4)
    kinds = [Refusal(429, {"retry-after": "0.2"}), Refusal(429), Refusal(529), Refusal(429, {"retry-after": "0.2"})]
    refused = dict(zip(places, kinds, strict=True))
    with bench(tmp_path / "p", server, lambda number, _prompt: refused.get(number)) as busy:
        busy.run()
        assert server.refused == {429: 3, 529: 1}
        assert busy.end() == undisturbed
        learnt = busy.concurrency()
        assert learnt["refusals"] == 4
        assert learnt["lowest"] <= learnt["start"] == 4 < learnt["highest"] <= 8
        assert learnt["seconds_paused"] > 0
        assert any("calls in flight lowered from" in note for note in busy.notes)
        assert any("asks to wait 0.2 s" in note for note in busy.notes)


@pytest.mark.parametrize(
    ("status", "headers", "says"),
    [
        (429, {"retry-after": "86400"}, "resume after {tomorrow}"),
        (402, {}, "402"),
        (401, {}, "the key was refused"),
    ],
    ids=["a_day", "no_credit", "wrong_key"],
)
def test_a_refusal_of_everything_stops_at_once_and_a_resume_pays_nothing_again(
    server: RefusingServer, undisturbed: End, tmp_path: Path, status: int, headers: dict[str, str], says: str
) -> None:
    ill = Refusal(status, headers)
    with bench(tmp_path / "p", server, lambda number, _prompt: ill if number >= 130 else None) as closed:
        began = time.monotonic()
        with pytest.raises(WorldError) as stopped:
            closed.run()
        assert (stopped.value.halts, stopped.value.exit_code) == (True, 3)
        tomorrow = datetime.now(UTC) + timedelta(days=1)
        assert says.format(tomorrow=f"{tomorrow:%Y-%m-%d}") in str(stopped.value)
        assert closed.status == "stopped"
        assert sum(server.asked.values()) <= 130 + 8, "only calls in flight may still be refused"
        assert set(server.asked.values()) == {1}, "nothing is tried again"
        assert time.monotonic() - began < 10
        paid = sum(spend.calls for spend in closed.home.journal.spend_by(closed.campaign, "role").values())
        assert paid == sum(server.answered.values()), "runs under way end and are kept"
        server.refuse = welcome
        assert closed.resume().state["conclusion"] == "promoted"
        assert closed.end() == undisturbed


def test_requests_refused_for_good_are_missing_cases_asked_once_while_the_campaign_goes_on(
    server: RefusingServer, tmp_path: Path
) -> None:
    bad = tuple(row["input"] for row in ROWS if int(row["id"][1:]) in {11, 17, 34, 46, 57, 75, 80})

    def refuse(_number: int, prompt: str) -> Refusal | None:
        return Refusal(400) if prompt.rstrip().endswith(bad) else None

    with bench(tmp_path / "p", server, refuse) as picky:
        outcome = picky.run()
        assert (outcome.status, outcome.state["conclusion"]) == ("finished", "promoted")
        assert set(server.asked.values()) == {1}
        assert server.refused[400] > len(bad)
        failed = [row for row in picky.home.journal.iter(picky.campaign) if row.state == "failed"]
        assert len(failed) == server.refused[400]
        baseline = picky.home.ledger.rows(picky.campaign, "baseline")[0].detail
        assert baseline["missing"] == sum(row.loop == "baseline" for row in failed) > 0
        verdict = picky.home.ledger.rows(picky.campaign, "verdict")[0].detail
        assert verdict["missing"] > 0


def test_an_empty_account_of_the_proposer_stops_the_campaign_instead_of_costing_it_its_proposals(
    server: RefusingServer, tmp_path: Path
) -> None:
    def refuse(_number: int, prompt: str) -> Refusal | None:
        return None if prompt.rstrip().endswith(tuple(KNOWN)) else Refusal(402)

    with bench(tmp_path / "p", server, refuse) as poor:
        agent = {"model": "openai:m", "base_url": server.address, "concurrency": 8}
        poor.project.edit(
            models={"agent": agent, "proposer": {**agent, "model": "openai:big"}},
            loops={"harness": {**LOOP, "proposers": ["model"]}},
        )
        with pytest.raises(WorldError, match="402"):
            poor.run()
        assert poor.status == "stopped"
        assert poor.home.ledger.rows(poor.campaign, "proposal") == []
        assert server.refused == {402: 1}
