"""Case 15: traces of 25k tokens, a result of 50 MB: excerpts keep a budget, cuts are recorded, no call overflows."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

from evolve.campaign.observe import silent
from evolve.campaign.run import load_inputs, start_campaign
from evolve.core.hashing import canonical_json
from evolve.core.messages import ModelRequest
from evolve.core.traces import RunStatus, Step, Trace
from evolve.run.trace_json import MAX_OUTPUT_BYTES, trace_document
from evolve.store import open_home
from harnesses.excerpts import FailureExcerpt, excerpt_failures
from tests.e2e.conftest import write_project

LONG = "and then the tool said this and that. " * 2_700
"""About 100,000 characters: 25,000 tokens."""


def test_twenty_long_failures_and_one_of_50_mb_fit_into_the_budget() -> None:
    failures = [FailureExcerpt(f"c{n}", LONG, LONG, {"answer": LONG}, LONG) for n in range(20)]
    failures[7] = FailureExcerpt("c7", "short", "x\u2028😀" * 10_000_000, {"a": 1})
    started = time.monotonic()
    excerpts = excerpt_failures(failures, 24_000)
    assert time.monotonic() - started < 10
    assert len(excerpts.text.encode()) <= 24_000
    assert excerpts.shown == 20 and excerpts.cut == 20
    assert "shown: 20 of 20 failures, 20 of them shortened" in excerpts.text
    assert "the middle is left out" in excerpts.text


def test_a_stored_trace_keeps_the_head_of_a_50_mb_result_and_says_what_is_gone() -> None:
    step = Step("ask", "use_tools", 1, 0.1, output={"result": "y" * 50_000_000})
    document = trace_document(Trace("t", "c", 0, RunStatus.FINISHED, output="z" * 50_000_000, steps=(step,)))
    assert len(canonical_json(document)) < 3 * MAX_OUTPUT_BYTES
    assert document["truncated"] and document["steps"][0]["truncated"]
    assert "of 50000002 bytes left out" in document["output"]


def test_no_call_of_a_campaign_with_long_answers_exceeds_the_proposers_prompt(tmp_path: Path) -> None:
    project = write_project(tmp_path / "p", 120)
    project.edit(
        models={"agent": {"model": "scripted:long"}, "proposer": {"model": "scripted:coach"}},
        loops={
            "harness": {"rounds": 2, "proposals": 2, "model_proposals": 2, "batch": 8, "proposers": ["model"]}
            | {"prompt_bytes": 12_000}
        },
        portfolio={"name": "small", "fit_cases": 20, "embedder": "fast"},
    )
    asked: list[int] = []

    def coach(request: ModelRequest, rng: random.Random) -> str:
        asked.append(request.prompt_bytes)
        return "no idea"

    home = open_home(project.home, create=True)
    try:
        scripts = {"long": lambda request, rng: LONG, "coach": coach}
        asyncio.run(start_campaign(load_inputs(project.campaign, {}, scripts), home, silent, path=project.campaign))
        assert asked and max(asked) <= 12_000
    finally:
        home.close()
