"""Whole campaigns on an agent whose score does not depend on its prompt: how often is noise promoted?

    python benchmarks/neutral.py [--quick] [--json] [--campaigns N]

Part 1: the scripted agent passes 60 % of cases whatever the prompt; a scripted proposer rewords the prompt 20 times
a campaign; 50 dev and 50 heldout cases. Every promotion is false. Part 2: one wording in 20 is worth a true +20 points,
at 150 dev and 150 heldout cases. Every campaign has its own home, cases and random answers; each arm draws its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

from evolve.campaign.context import CampaignInputs
from evolve.campaign.observe import silent
from evolve.campaign.run import load_inputs, start_campaign
from evolve.core.messages import ModelRequest
from evolve.store import open_home

PASS, TRUE_GAIN, PROPOSALS, ALPHA = 0.6, 0.2, 20, 0.05
CHARM = "Count to three first."
FAST_DISK = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Homes live in memory where there is such a folder: what is measured is promotions, not the disk."""


@dataclass(frozen=True)
class Setting:
    """One part: `cases` in dev and in heldout, `train` cases, and whether one wording in 20 really helps."""

    cases: int
    train: int
    charm: bool


NEUTRAL = Setting(cases=50, train=100, charm=False)
TRUE_20 = Setting(cases=150, train=300, charm=True)


def write_project(folder: Path, setting: Setting, seed: int) -> Path:
    """A campaign with its own cases and seed harness."""
    rows = []
    for split, count in (("train", setting.train), ("dev", setting.cases), ("heldout", setting.cases)):
        rows += [
            {"id": f"{split}-{i}", "input": f"question {seed} {split} {i}", "expected": "yes", "split": split}
            for i in range(count)
        ]
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    harness = folder / "harness"
    (harness / "prompts").mkdir(parents=True)
    (harness / "prompts" / "answer.md").write_text("Answer yes or no: {input}\n")
    (harness / "harness.yaml").write_text(yaml.safe_dump({"schema": 1, "name": "neutral", "workflow": "workflow.yaml"}))
    node = {"operator": "generate", "params": {"prompt": "prompts/answer.md", "parse": "text"}, "next": "end"}
    (harness / "workflow.yaml").write_text(yaml.safe_dump({"schema": 1, "start": "answer", "nodes": {"answer": node}}))
    config = {
        "schema": 1,
        "name": "neutral",
        "goal": "more right answers",
        "harness": "harness",
        "data": {"cases": "cases.jsonl", "split": {"column": "split"}},
        "scorer": {"kind": "exact"},
        "models": {
            "agent": {"model": "scripted:agent", "seed": seed},
            "proposer": {"model": "scripted:proposer", "seed": seed},
        },
        "loops": {
            "harness": {
                "rounds": 1,
                "proposals": PROPOSALS,
                "model_proposals": PROPOSALS,
                "batch": setting.train // 2,
                "proposers": ["model"],
            }
        },
        "portfolio": {"name": "neutral", "fit_cases": setting.train // 2, "embedder": "fast"},
        "gate": {"alpha": ALPHA, "spend": 1},
        "budget": {"calls": 100_000},
        "journal": "hash",
        "seed": seed,
    }
    path = folder / "campaign.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def scripts(setting: Setting, seed: int) -> dict[str, object]:
    """The agent and the proposer."""
    made = iter(range(10**6))

    def agent(request: ModelRequest, rng: random.Random) -> str:
        charmed = setting.charm and any(CHARM in m.content for m in request.messages)
        return "yes" if rng.random() < PASS + TRUE_GAIN * charmed else "no"

    def proposer(request: ModelRequest, rng: random.Random) -> str:
        charm = f" {CHARM}" if setting.charm and next(made) == seed % PROPOSALS else ""
        wording = f"Wording {rng.randrange(10**9)}:{charm} {{input}}\n"
        edits = [{"path": "prompts/answer.md", "content": wording}]
        return json.dumps(
            {
                "cause": "the wording",
                "lever": "another wording",
                "predicted_effect": "better",
                "refuted_by": "no gain",
                "edits": edits,
            }
        )

    return {"agent": agent, "proposer": proposer}


def run_one(setting: Setting, seed: int) -> tuple[bool, int]:
    """Whether a campaign promoted, and the calls it paid."""
    with tempfile.TemporaryDirectory(dir=FAST_DISK) as name:
        folder = Path(name)
        path = write_project(folder, setting, seed)
        home = open_home(folder / ".evolve", create=True)
        try:
            inputs: CampaignInputs = load_inputs(path, {}, scripts(setting, seed))
            outcome = asyncio.run(start_campaign(inputs, home, silent, path=path))
            calls = sum(spend.calls for spend in home.journal.spend_by(outcome.campaign, "loop").values())
            return outcome.state["conclusion"] == "promoted", calls
        finally:
            home.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="as many campaigns as fit in 45 seconds")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--campaigns", type=int, default=100)
    options = parser.parse_args()
    seconds = 45.0 if options.quick else float("inf")
    neutral, true_20, calls, started = [], [], 0, time.monotonic()
    for seed in range(options.campaigns):
        if time.monotonic() - started > seconds:
            break
        for setting, promoted in ((NEUTRAL, neutral), (TRUE_20, true_20)):
            found, paid = run_one(setting, seed)
            promoted.append(found)
            calls += paid
    result = {
        "campaigns": len(neutral),
        "alpha": ALPHA,
        "promoted_neutral": sum(neutral) / len(neutral),
        "promoted_true_20": sum(true_20) / len(true_20),
        "calls": calls,
        "seconds": round(time.monotonic() - started, 1),
    }
    if not options.json:
        print(
            f"{result['campaigns']} campaigns of each kind: {100 * result['promoted_neutral']:.0f} % promoted noise, "
            f"{100 * ALPHA:.0f} % are allowed; {100 * result['promoted_true_20']:.0f} % promoted the true +20 points."
        )
    print(json.dumps(result))


if __name__ == "__main__":
    main()
