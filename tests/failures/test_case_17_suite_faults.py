"""A scorer that raises on some cases, a provider that dies: retried, then missing; a crash of the harness scores 0."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from evolve.books import Books, Caps, PriceBook
from evolve.campaign.roles import booked_models
from evolve.core.cases import Case, Split
from evolve.core.errors import WorldError
from evolve.core.messages import ModelRequest
from evolve.core.traces import RunStatus
from evolve.evaluate.scorers import open_scorer
from evolve.evaluate.scorers.custom import CustomOptions
from evolve.evaluate.suite import Evaluation, Suite, SuiteSettings
from evolve.models import OpenedModel, ScriptedModel
from evolve.run.execute import Executor
from evolve.store import Home

CASES = [Case(id=f"c{i}", input=f"question number {i} please", expected="yes") for i in range(20)]
RAISING = """
def score(output, expected):
    if output in ("q3", "q7", "q11"):
        raise ValueError("cannot grade this one")
    return 1.0
"""


def harness() -> dict[str, bytes]:
    node = {"operator": "generate", "params": {"prompt": "prompts/ask.md", "parse": "text"}, "next": "end"}
    return {
        "harness.yaml": yaml.safe_dump({"schema": 1, "name": "plain", "workflow": "workflow.yaml"}).encode(),
        "workflow.yaml": yaml.safe_dump({"schema": 1, "start": "answer", "nodes": {"answer": node}}).encode(),
        "prompts/ask.md": b"{input}",
    }


async def run(tmp_path: Path, home: Home, reply: Any) -> dict[str, Any]:
    (tmp_path / "scorer.py").write_text(RAISING)
    scorer = open_scorer(CustomOptions(kind="custom", path="scorer.py"), tmp_path)
    model = OpenedModel(ScriptedModel("faulty", reply))
    books = Books(home, "faults", Caps(), PriceBook(), "full")
    executor = Executor(home.trees, booked_models(books, {"agent": model}, "faults"), None)
    settings = SuiteSettings(campaign="faults", models={"agent": model.identity}, concurrency=4)
    suite = Suite(executor, scorer, home.results, settings)
    try:
        card = await suite.evaluate(Evaluation(home.trees.put(harness()), CASES, Split.TRAIN, "test"))
        return {case_id: rows[0] for case_id, rows in card.by_case.items()}
    finally:
        await scorer.close()


def number(request: ModelRequest) -> int:
    return int(request.messages[-1].content.split()[2])


async def test_a_scorer_that_raises_on_three_of_twenty_leaves_three_missing(tmp_path: Path, home: Home) -> None:
    results = await run(tmp_path, home, lambda request, _rng: f"q{number(request)}")
    missing = {case_id for case_id, result in results.items() if result.value is None}
    assert missing == {"c3", "c7", "c11"}
    assert all(results[case_id].status is RunStatus.FINISHED for case_id in missing)
    assert all("cannot grade" in results[case_id].score.reason for case_id in missing)
    assert sum(result.value == 1.0 for result in results.values()) == 17


async def test_a_provider_that_fails_once_is_asked_again_and_one_that_stays_down_is_missing(
    tmp_path: Path, home: Home
) -> None:
    asked: Counter[int] = Counter()

    def reply(request: ModelRequest, _rng: random.Random) -> str:
        asked[number(request)] += 1
        if number(request) == 5 or (number(request) == 2 and asked[2] == 1):
            raise WorldError("the provider is down")
        return "fine"

    results = await run(tmp_path, home, reply)
    assert results["c2"].value == 1.0
    assert asked[2] == 2
    assert results["c5"].value is None
    assert results["c5"].status is RunStatus.WORLD_FAULT
    assert asked[5] == 3


async def test_a_crash_inside_the_harness_scores_zero_and_the_run_goes_on(tmp_path: Path, home: Home) -> None:
    def reply(request: ModelRequest, _rng: random.Random) -> str:
        if number(request) in (8, 9):
            raise RuntimeError("crash on the hard cases")
        return "fine"

    results = await run(tmp_path, home, reply)
    assert [results[c].value for c in ("c8", "c9")] == [0.0, 0.0]
    assert results["c8"].status is RunStatus.HARNESS_FAULT
    assert sum(result.value == 1.0 for result in results.values()) == 18


async def test_a_provider_that_is_down_for_all_stops_the_evaluation_and_says_how_to_go_on(
    tmp_path: Path, home: Home
) -> None:
    def reply(_request: ModelRequest, _rng: random.Random) -> str:
        raise WorldError("connection refused")

    with pytest.raises(WorldError, match=r"(?s)8 runs in a row.*connection refused.*--resume"):
        await run(tmp_path, home, reply)
