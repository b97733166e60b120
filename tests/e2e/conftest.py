"""A small project whose scripted agent gets better when it is shown examples, in its own home."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from evolve.core.messages import ModelRequest

TEAMS = ("billing", "shipping", "returns")
SUBJECTS = {
    "billing": ("the invoice shows the wrong sum", "my card was charged twice", "please explain this fee"),
    "shipping": ("the parcel has not arrived", "where is my order now", "the courier left it outside"),
    "returns": ("the shoes do not fit, I send them back", "how do I return a gift", "it broke, I want a refund"),
}


def make_rows(count: int) -> list[dict[str, Any]]:
    """Half routing queries, half sums; every third row starts a new template group."""
    rows: list[dict[str, Any]] = []
    for i in range(count):
        if i % 2:
            team = TEAMS[(i // 2) % 3]
            text = f"Customer {i} from town {i * 7} writes: {SUBJECTS[team][(i // 6) % 3]}"
            rows.append({"id": f"r{i}", "input": text, "expected": {"team": team}, "tags": {"kind": "routing"}})
        else:
            a, b = 11 + i, 3 + (i * 5) % 17
            text = f"Shelf {i}: there were {a} boxes and {b} more came. How many boxes now?"
            rows.append({"id": f"s{i}", "input": text, "expected": {"total": a + b}, "tags": {"kind": "sum"}})
    return rows


def desk_script(rows: list[dict[str, Any]]) -> Callable[[ModelRequest, random.Random], str]:
    """Right with 0.95 when the prompt shows an answer of the same form, else with 0.2."""
    known = {row["input"]: row["expected"] for row in rows}

    def reply(request: ModelRequest, rng: random.Random) -> str:
        prompt = "\n".join(m.content for m in request.messages)
        expected = next((value for text, value in known.items() if text in request.messages[-1].content[-400:]), None)
        if expected is None:
            return "?"
        if request.labels:
            wanted = next(iter(expected.values()))
            return wanted if wanted in request.labels and rng.random() < 0.95 else rng.choice(request.labels)
        shown = prompt.replace(" ", "").count("{" + json.dumps(next(iter(expected)))) >= 2
        return json.dumps(expected) if rng.random() < (0.95 if shown else 0.2) else "no idea"

    return reply


@dataclass(frozen=True)
class Project:
    """A campaign file with everything it names, and its home."""

    folder: Path
    rows: list[dict[str, Any]]

    @property
    def campaign(self) -> Path:
        return self.folder / "campaign.yaml"

    @property
    def home(self) -> Path:
        return self.folder / ".evolve"

    def scripts(self) -> dict[str, Any]:
        return {"desk": desk_script(self.rows)}

    def edit(self, **changes: Any) -> None:
        config = yaml.safe_load(self.campaign.read_text())
        config.update(changes)
        self.campaign.write_text(yaml.safe_dump(config))


def write_project(folder: Path, count: int = 240) -> Project:
    rows = make_rows(count)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    harness = folder / "harness"
    (harness / "prompts").mkdir(parents=True)
    (harness / "prompts" / "answer.md").write_text("Answer as JSON.\n{input}\n")
    (harness / "harness.yaml").write_text(yaml.safe_dump({"schema": 1, "name": "small", "workflow": "workflow.yaml"}))
    node = {"operator": "generate", "params": {"prompt": "prompts/answer.md", "parse": "json"}, "next": "end"}
    (harness / "workflow.yaml").write_text(yaml.safe_dump({"schema": 1, "start": "answer", "nodes": {"answer": node}}))
    config = {
        "schema": 1,
        "name": "small",
        "goal": "more right answers",
        "harness": "harness",
        "data": {"cases": "cases.jsonl", "split": {"shares": {"train": 0.5, "dev": 0.2, "heldout": 0.3}}},
        "scorer": {"kind": "json_fields"},
        "models": {"agent": {"model": "scripted:desk"}},
        "loops": {
            "harness": {"rounds": 1, "proposals": 4, "batch": 16},
            "workflow": {"rounds": 1, "proposals": 6, "batch": 16},
        },
        "portfolio": {"name": "small", "fit_cases": 50, "embedder": "fast"},
        "gate": {"alpha": 0.05},
        "budget": {"calls": 20000},
    }
    (folder / "campaign.yaml").write_text(yaml.safe_dump(config))
    return Project(folder, rows)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return write_project(tmp_path / "small desk ü")
