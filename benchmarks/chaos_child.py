"""What the children of the chaos benchmark do: run a campaign up to a numbered durable write, or read a home."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import random
import signal
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import aiosqlite
import pygit2
import yaml

from evolve.books import Books, Caps, PriceBook
from evolve.campaign.run import load_inputs, resume_campaign, start_campaign
from evolve.core.errors import UserError
from evolve.core.messages import ModelRequest
from evolve.core.traces import Spend
from evolve.embed import open_embedder
from evolve.store import Home, LedgerRow, open_home

TEAMS = ("billing", "shipping", "returns")
NAME = "chaos"


@dataclass(frozen=True)
class Kill:
    """The number, from 1, of the durable write at which a child ends itself; odd: just before it, even: just after."""

    point: int


def warm_up() -> None:
    """Loads in the parent what every child would load again."""
    open_embedder("fast").embed(["warm"])


def write_project(folder: Path) -> None:
    """A campaign of 80 cases whose agent gets better when it is shown examples."""
    rows = [
        {
            "id": f"c{i}",
            "input": f"Customer {i} of town {7 * i} asks about {TEAMS[i % 3]} matter {i}",
            "expected": {"team": TEAMS[i % 3]},
        }
        for i in range(80)
    ]
    harness = folder / "harness"
    (harness / "prompts").mkdir(parents=True)
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (harness / "prompts" / "answer.md").write_text("Answer as JSON.\n{input}\n")
    (harness / "harness.yaml").write_text(yaml.safe_dump({"schema": 1, "name": NAME, "workflow": "workflow.yaml"}))
    node = {"operator": "generate", "params": {"prompt": "prompts/answer.md", "parse": "json"}, "next": "end"}
    (harness / "workflow.yaml").write_text(yaml.safe_dump({"schema": 1, "start": "answer", "nodes": {"answer": node}}))
    config = {
        "schema": 1,
        "name": NAME,
        "goal": "more right answers",
        "harness": "harness",
        "data": {"cases": "cases.jsonl", "split": {"shares": {"train": 0.5, "dev": 0.2, "heldout": 0.3}}},
        "scorer": {"kind": "json_fields"},
        "models": {"agent": {"model": "scripted:desk"}},
        "loops": {
            "harness": {"rounds": 1, "proposals": 2, "batch": 10},
            "workflow": {"rounds": 1, "proposals": 2, "batch": 10},
        },
        "portfolio": {"name": NAME, "fit_cases": 20, "embedder": "fast"},
        "budget": {"calls": 5000},
    }
    (folder / "campaign.yaml").write_text(yaml.safe_dump(config))


def answer(request: ModelRequest, rng: random.Random) -> str:
    """Right with 0.97 when the prompt shows an answer of the same form, else with 0.1."""
    text = "\n".join(m.content for m in request.messages)
    team = next((t for t in TEAMS if f"about {t}" in request.messages[-1].content[-120:]), TEAMS[0])
    if request.labels:
        return team if team in request.labels and rng.random() < 0.97 else rng.choice(request.labels)
    shown = text.replace(" ", "").count('{"team"') >= 2
    return json.dumps({"team": team}) if rng.random() < (0.97 if shown else 0.1) else "no idea"


def run_child(folder: Path, kill: Kill | None) -> None:
    """Starts the campaign, or resumes it, and counts durable writes; ends itself by SIGKILL at `kill`."""
    counter = _Counter(kill)
    _count_writes(counter)

    def reply(request: ModelRequest, rng: random.Random) -> str:
        _append(folder / "asked", request.request_hash)
        return answer(request, rng)

    home = open_home(folder / ".evolve", create=True)
    inputs = load_inputs(folder / "campaign.yaml", {}, {"desk": reply})

    def observe(event: str, **fields: Any) -> None:
        if event == "run":
            _acknowledge(folder, home)

    (folder / "acknowledged").touch()
    existing = home.campaigns.list()
    try:
        if existing:
            asyncio.run(resume_campaign(existing[0].id, inputs, home, observe))
        else:
            asyncio.run(start_campaign(inputs, home, observe, path=folder / "campaign.yaml"))
    except UserError as error:
        if not existing or existing[0].status != "finished":
            raise error
    home.close()
    (folder / "points").write_text(str(counter.count))


class _Counter:
    """Numbers durable writes: each is two points, one before and one after."""

    def __init__(self, kill: Kill | None) -> None:
        self.count = 0
        self._kill = kill

    def passed(self) -> None:
        self.count += 1
        if self._kill is not None and self.count == self._kill.point:
            os.kill(os.getpid(), signal.SIGKILL)


def _around(counter: _Counter, act: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(act)
    def counted(*arguments: Any, **options: Any) -> Any:
        counter.passed()
        result = act(*arguments, **options)
        counter.passed()
        return result

    return counted


def _count_writes(counter: _Counter) -> None:
    """Commits of every SQLite connection of this process, git objects and references. Nothing of ours is changed."""

    class Connection(sqlite3.Connection):
        def commit(self) -> None:
            if not self.in_transaction:
                return super().commit()
            counter.passed()
            super().commit()
            counter.passed()

    connect = sqlite3.connect

    def counted_connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        return connect(*arguments, **{**options, "factory": Connection})

    sqlite3.connect = sqlite3.dbapi2.connect = aiosqlite.core.sqlite3.connect = counted_connect  # type: ignore[assignment]
    for owner, name in (
        (pygit2.Repository, "create_blob"),
        (pygit2.Repository, "create_commit"),
        (pygit2.repository.References, "create"),
    ):
        setattr(owner, name, _around(counter, getattr(owner, name)))


def _append(file: Path, line: str) -> None:
    with file.open("ab", buffering=0) as out:
        out.write(f"{line}\n".encode())


def _acknowledge(folder: Path, home: Home) -> None:
    """Writes down which results the engine has said are kept."""
    keys = _result_keys(home)
    (folder / "acknowledged.new").write_text(" ".join(keys))
    os.replace(folder / "acknowledged.new", folder / "acknowledged")


def _result_keys(home: Home) -> list[str]:
    from sqlalchemy import select

    from evolve.store.tables import results

    with home.database.read() as connection:
        return sorted(connection.execute(select(results.c.key)).scalars())


def inspect(folder: Path, target: Path) -> None:
    """Writes the lasting facts of a home as JSON."""
    if not (folder / ".evolve" / "evolve.db").exists():
        target.write_text(json.dumps({"exists": False, "in_flight": 0, "asked": 0}))
        return
    home = open_home(folder / ".evolve", create=True)
    campaigns = home.campaigns.list()
    asked = folder / "asked"
    facts: dict[str, Any] = {
        "exists": True,
        "asked": asked.read_bytes().count(b"\n") if asked.exists() else 0,
        "in_flight": sum(row.state == "in_flight" for c in campaigns for row in home.journal.iter(c.id)),
        "status": [c.status for c in campaigns],
        "results": _result_keys(home),
        **_versions(home),
        **_ledger(home),
        "books": [problem for c in campaigns for problem in _books(home, c.id)],
    }
    home.close()
    target.write_text(json.dumps(facts))


def _versions(home: Home) -> dict[str, Any]:
    rows = home.versions.list(NAME)
    repository = pygit2.Repository(str(home.trees.path))
    branch = repository.references.get(f"refs/heads/{NAME}")
    return {
        "hashes": [row.content_hash for row in rows],
        "versions": [[row.number, row.parent, row.reason, json.dumps(row.content, sort_keys=True)] for row in rows],
        "pointers": [[m.which, m.before, m.after] for m in home.versions.pointer_log(NAME)],
        "branch": [c.message for c in repository.walk(branch.target)] if branch else [],
    }


def _ledger(home: Home) -> dict[str, Any]:
    """Ledger rows as a set: those about dead processes are what a kill must leave, and the only ones it may."""
    from sqlalchemy import select

    from evolve.store.tables import alpha_spends

    rows = [row for row in home.ledger.rows() if row.kind != "died"]
    with home.database.read() as connection:
        spends = connection.execute(select(alpha_spends.c.text_key, alpha_spends.c.alpha)).all()
    return {
        "conclusion": [row.subject for row in rows if row.kind == "conclusion"],
        "ledger": [[row.kind, row.subject, json.dumps(_timeless(_opened(home, row)), sort_keys=True)] for row in rows],
        "alpha": sorted([key, alpha] for key, alpha in spends),
    }


def _opened(home: Home, row: LedgerRow) -> dict[str, Any]:
    """The detail of a row, a version's behaviour in full: its address depends on how many seconds each case took."""
    detail = dict(row.detail)
    return {"content": home.artifacts.get_json(detail["artifact"])} if row.kind == "behaviour" else detail


def _timeless(value: Any) -> Any:
    """Without seconds, which no two runs share."""
    if isinstance(value, dict):
        return {k: _timeless(v) for k, v in value.items() if k != "seconds"}
    return [_timeless(v) for v in value] if isinstance(value, list) else value


def _books(home: Home, campaign: str) -> list[str]:
    """The law of the books: journal, budget and breakdowns say the same, and no finished call is there twice."""
    rows = list(home.journal.iter(campaign))
    total = sum((row.spend for row in rows), Spend())
    books = Books(home, campaign, Caps(), PriceBook())
    problems = []
    if books.spend() != total or books.budget.reserved.calls or books.budget.reserved.usd != Decimal(0):
        problems.append(f"books say {books.spend()}, the journal {total}")
    keys = [row.key for row in rows if row.state == "finished"]
    if len(keys) != len(set(keys)):
        problems.append(f"{len(keys) - len(set(keys))} finished calls were paid twice")
    return problems
