"""What the engine costs beside the model: wall time against the ideal and against plain asyncio, memory, growth, help.

    python benchmarks/overhead.py [--quick] [--json]

A scripted model answers after 250 ms; 1,000 cases (300 with --quick) go through a three-step workflow at concurrency
64, booked, scored and stored. `wall_vs_ideal` divides by calls x 0.25 s / 64; `wall_vs_asyncio` by the same calls in
plain asyncio, measured in the same process. `run_cost_growth` divides the cost of a run in a home that holds 100,000
results by that in one that holds 1,000, the two measured in turn.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from pydantic import TypeAdapter

from evolve.books import Books, Caps, PriceBook
from evolve.campaign.roles import booked_models
from evolve.core.cases import Case, Split
from evolve.core.hashing import sha256_hex
from evolve.core.messages import Message, ModelRequest
from evolve.core.scores import Result, Score
from evolve.core.traces import RunStatus
from evolve.evaluate.scorers import ScorerSettings, open_scorer
from evolve.evaluate.suite import Evaluation, Suite, SuiteSettings
from evolve.models import OpenedModel, ScriptedModel
from evolve.run.execute import Executor
from evolve.store import Home, StoredResult, open_home

LATENCY, CONCURRENCY, STEPS = 0.25, 64, 3


def harness_files() -> dict[str, bytes]:
    """Three generate nodes in a row."""
    nodes = {
        name: {"operator": "generate", "params": {"prompt": "prompts/ask.md", "parse": "text"}, "next": after}
        for name, after in (("draft", "improve"), ("improve", "answer"), ("answer", "end"))
    }
    return {
        "harness.yaml": yaml.safe_dump({"schema": 1, "name": "three", "workflow": "workflow.yaml"}).encode(),
        "workflow.yaml": yaml.safe_dump({"schema": 1, "start": "draft", "nodes": nodes}).encode(),
        "prompts/ask.md": b"Answer: {input}\n",
    }


def make_cases(count: int, name: str) -> list[Case]:
    return [Case(id=f"{name}-{i}", input=f"{name} question {i}", expected="yes") for i in range(count)]


async def evaluate(home: Home, cases: list[Case], latency: float, campaign: str) -> float:
    """Seconds to evaluate `cases` once."""
    model = OpenedModel(ScriptedModel("overhead", lambda _request, _rng: "yes", latency))
    tree = home.trees.put(harness_files())
    books = Books(home, campaign, Caps(), PriceBook(), "full")
    scorer = open_scorer(TypeAdapter(ScorerSettings).validate_python({"kind": "exact"}), Path())
    suite = Suite(
        Executor(home.trees, booked_models(books, {"agent": model}, campaign), None),
        scorer,
        home.results,
        SuiteSettings(campaign=campaign, models={"agent": model.identity}, concurrency=CONCURRENCY),
    )
    start = time.perf_counter()
    card = await suite.evaluate(Evaluation(tree, cases, Split.TRAIN, "overhead"))
    seconds = time.perf_counter() - start
    assert card.mean() == 1.0
    await books.close()
    await scorer.close()
    return seconds


async def plain(count: int, latency: float) -> float:
    """The same calls with nothing around them."""
    model = ScriptedModel("overhead", lambda _request, _rng: "yes", latency)
    slots = asyncio.Semaphore(CONCURRENCY)

    async def one(index: int) -> None:
        async with slots:
            for _ in range(STEPS):
                await model.reply(ModelRequest((Message("user", f"question {index}"),)))

    start = time.perf_counter()
    await asyncio.gather(*(one(i) for i in range(count)))
    return time.perf_counter() - start


def prefill(home: Home, count: int) -> None:
    """Stores `count` results in bulk."""
    rows = [
        StoredResult(
            key=sha256_hex(f"prefill {i}".encode()),
            tree="0" * 40,
            split="train",
            case_fingerprint=sha256_hex(str(i).encode()),
            repetition=0,
            trace={"status": "finished"},
            result=Result(str(i), 0, RunStatus.FINISHED, Score.graded(1.0)),
        )
        for i in range(count)
    ]

    async def store() -> None:
        for start in range(0, count, 5_000):
            await asyncio.gather(*(home.results.put_async(row) for row in rows[start : start + 5_000]))

    asyncio.run(store())


def growth(folder: Path, large: int, runs: int, rounds: int) -> float:
    """Cost of a run with `large` stored results over that with 1,000; medians of paired rounds."""
    homes = {count: open_home(folder / f"home{count}", create=True) for count in (1_000, large)}
    seconds: dict[int, list[float]] = {count: [] for count in homes}
    for count, home in homes.items():
        prefill(home, count)
    for number in range(rounds + 1):
        for count, home in homes.items():
            spent = asyncio.run(evaluate(home, make_cases(runs, f"growth{number}"), 0.0, f"growth-{number}"))
            if number:
                seconds[count].append(spent)
    for home in homes.values():
        home.close()
    return statistics.median(b / a for a, b in zip(seconds[1_000], seconds[large], strict=True))


def help_seconds(times: int) -> float:
    """Median wall time of `evolve --help`."""
    command = [sys.executable, "-m", "evolve.cli", "--help"]
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    count = 300 if options.quick else 1_000
    with tempfile.TemporaryDirectory() as name:
        home = open_home(Path(name) / "home", create=True)
        asyncio.run(evaluate(home, make_cases(CONCURRENCY, "warm"), 0.0, "warm"))
        wall = asyncio.run(evaluate(home, make_cases(count, "timed"), LATENCY, "timed"))
        home.close()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        bare = asyncio.run(plain(count, LATENCY))
        grown = growth(Path(name), 20_000 if options.quick else 100_000, 200, 3 if options.quick else 7)
    result = {
        "cases": count,
        "wall_vs_ideal": round(wall / (count * STEPS * LATENCY / CONCURRENCY), 3),
        "wall_vs_asyncio": round(wall / bare, 3),
        "peak_mb": round(peak, 1),
        "run_cost_growth": round(grown, 3),
        "help_seconds": round(help_seconds(5), 3),
    }
    if not options.json:
        print(f"{count} cases took {wall:.2f} s, plain asyncio {bare:.2f} s; peak {peak:.0f} MB.")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
