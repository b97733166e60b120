"""Results, ledger, artifacts, campaigns: idempotent, in order, flat with size."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import pytest
from sqlalchemy import insert

from evolve.core.errors import UserError
from evolve.core.hashing import sha256_hex
from evolve.core.scores import Result, Score
from evolve.core.traces import RunStatus
from evolve.store import Home, StoredResult
from evolve.store.packing import pack_json, unpack_json
from evolve.store.tables import results

PROJECT = Path(__file__).parents[2]


def stored(key: str, value: float | None = 1.0, status: RunStatus = RunStatus.FINISHED) -> StoredResult:
    score = Score.ungraded("unknown") if value is None else Score.graded(value, "because")
    result = Result("case", 0, status, score, Decimal("0.000000123"), 1, 20, 3, 1.5)
    return StoredResult(key, "t" * 40, "train", "f" * 64, 0, {"output": ["é", None, 0.1]}, result)


async def test_results_come_back_as_they_were_and_the_first_write_wins(home: Home) -> None:
    assert home.results.put(stored("a", 0.25))
    assert await home.results.put_async(stored("b"))
    assert home.results.put(stored("a", 0.75)) and await home.results.put_async(stored("a", 0.5))
    assert home.results.get("a") == stored("a", 0.25)
    assert home.results.get_many(["b", "missing", "a"]) == {"a": stored("a", 0.25), "b": stored("b")}
    assert home.results.get("missing") is None


async def test_faults_are_never_kept(home: Home) -> None:
    for row in (stored("w", 1.0, RunStatus.WORLD_FAULT), stored("u", None)):
        assert not home.results.put(row)
        assert not await home.results.put_async(row)
        assert home.results.get(row.key) is None
    # A harness fault is a result: it scores 0 whatever the scorer did not say.
    assert home.results.put(stored("h", None, RunStatus.HARNESS_FAULT))


async def test_results_stay_flat_to_100_000_rows(home: Home) -> None:
    small = await _seconds(home, "small")
    columns = home.results._columns(stored("x"))
    for start in range(0, 100_000, 20_000):
        rows = [{**columns, "key": sha256_hex(str(n).encode())} for n in range(start, start + 20_000)]
        with home.database.write() as connection:
            connection.execute(insert(results), rows)
    large = await _seconds(home, "large")
    assert large < 3 * small + 0.05, f"{small:.4f} s with few rows, {large:.4f} s with 100,000"


async def _seconds(home: Home, name: str) -> float:
    """The best of five rounds of 200 writes and 200 look-ups."""
    best = float("inf")
    for attempt in range(5):
        keys = [sha256_hex(f"{name}/{attempt}/{n}".encode()) for n in range(200)]
        start = time.perf_counter()
        await asyncio.gather(*(home.results.put_async(stored(key)) for key in keys))
        assert len(home.results.get_many(keys)) == 200
        best = min(best, time.perf_counter() - start)
    return best


def test_packing_keeps_every_json_value() -> None:
    for value in (None, True, 0.1, 10**30, "x" * 5000, ["\u2028", "\ud83d", "\0"], {"b": 1, "a": [{}]}, float("inf")):
        assert unpack_json(pack_json(value)) == value
    assert len(pack_json("x" * 100_000)) < 1000


def test_a_ledger_row_is_appended_once_and_read_in_order(home: Home) -> None:
    ledger = home.ledger
    assert ledger.append("c", "proposal", "tree:1", {"b": 1, "a": ["é\u2028"]}, key="r0/1")
    assert ledger.append("c", "verdict", "tree:1", {}, key="gate")
    assert not ledger.append("c", "proposal", "tree:2", {"other": 2}, key="r0/1")
    assert ledger.append("d", "proposal", "tree:3", {}, key="r0/1")
    assert [r.subject for r in ledger.rows()] == ["tree:1", "tree:1", "tree:3"]
    (row,) = ledger.rows("c", "proposal")
    assert row.detail == {"b": 1, "a": ["é\u2028"]} and row.created_at.endswith("+00:00")
    with pytest.raises(ValueError):
        ledger.append("c", "verdict", "x", {"gain": float("nan")}, key="nan")


def test_artifacts_are_found_by_their_hash(home: Home) -> None:
    sha = home.artifacts.put(b"\0data")
    assert home.artifacts.put(b"\0data") == sha == sha256_hex(b"\0data")
    assert home.artifacts.get(sha) == b"\0data"
    assert home.artifacts.get_json(home.artifacts.put_json({"z": "é", "a": 1})) == {"z": "é", "a": 1}
    with pytest.raises(UserError, match="unknown"):
        home.artifacts.get("0" * 64)


def test_campaigns(home: Home) -> None:
    made = home.campaigns.create("desk-1", {"name": "desk"}, {})
    with pytest.raises(UserError, match="exists"):
        home.campaigns.create("desk-1", {}, {})
    home.campaigns.set_status("desk-1", "running")
    home.campaigns.set_fingerprints("desk-1", {"dataset": "abc"})
    row = home.campaigns.get("desk-1")
    assert (row.status, row.config, row.fingerprints) == ("running", {"name": "desk"}, {"dataset": "abc"})
    assert row.created_at == made.created_at <= row.changed_at
    assert [r.id for r in home.campaigns.list()] == ["desk-1"]
    for act in (home.campaigns.get, lambda id: home.campaigns.set_status(id, "x")):
        with pytest.raises(UserError, match="no such campaign"):
            act("desk-2")


def test_a_campaign_runs_in_one_process_and_kill_9_frees_it(home: Home) -> None:
    program = (
        "import sys, time; from pathlib import Path; from evolve.store import open_home\n"
        "lock = open_home(Path(sys.argv[1])).campaigns.lock('a/ü b')\n"
        "print('held', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(home.path)], cwd=PROJECT, stdout=subprocess.PIPE)
    assert child.stdout is not None and child.stdout.readline() == b"held\n"
    with pytest.raises(UserError, match=f"process {child.pid}"):
        home.campaigns.lock("a/ü b")
    with home.campaigns.lock("another"):
        pass
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    with home.campaigns.lock("a/ü b"), pytest.raises(UserError, match=f"process {os.getpid()}"):
        home.campaigns.lock("a/ü b")
    home.campaigns.lock("a/ü b").release()


def test_two_processes_write_at_once_and_lose_nothing(home: Home) -> None:
    program = (
        "import sys; from pathlib import Path; from evolve.store import open_home\n"
        "home = open_home(Path(sys.argv[1]))\n"
        "for n in range(150): assert home.ledger.append(sys.argv[2], 'k', 's', {'n': n}, key=str(n))\n"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", program, str(home.path), name], cwd=PROJECT) for name in ("one", "two")
    ]
    for n in range(50):
        home.ledger.append("three", "k", "s", {"n": n}, key=str(n))
    assert [child.wait(timeout=60) for child in children] == [0, 0]
    for name, count in (("one", 150), ("two", 150), ("three", 50)):
        assert [row.detail["n"] for row in home.ledger.rows(name)] == list(range(count))
