"""Group commit: what was acknowledged is there after kill -9, and one bad row fails only its own writer."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evolve.core.errors import WorldError
from evolve.store import CallEnd, CallStart, Home, open_home
from evolve.store.tables import artifacts

PROJECT = Path(__file__).parents[2]

WRITER = """
import asyncio, os, sys
from pathlib import Path
from evolve.core.scores import Result, Score
from evolve.core.traces import RunStatus
from evolve.store import CallEnd, CallStart, StoredResult, open_home

async def work(home, worker):
    for n in range(10**6):
        id = home.journal.new_id()
        await home.journal.start(CallStart(
            id, "k", "c", "l", "t", f"{worker}/{n}", 0, "agent", "s", "m", "h", b"x" * 200, None, 1, 1))
        os.write(1, f"start {id}\\n".encode())
        await home.journal.end(CallEnd(id, "finished", reply=b"y" * 200))
        os.write(1, f"end {id}\\n".encode())
        key = f"{worker}/{n}"
        result = Result(key, 0, RunStatus.FINISHED, Score.graded(1.0))
        await home.results.put_async(StoredResult(key, "t", "train", "f", 0, {"n": n}, result))
        os.write(1, f"result {key}\\n".encode())

async def main():
    home = open_home(Path(sys.argv[1]))
    await asyncio.gather(*(work(home, worker) for worker in range(32)))

asyncio.run(main())
"""


def _artifact(sha: str, data: object) -> dict[str, object]:
    return {"sha": sha, "created_at": "2026-01-01", "data": data}


@pytest.mark.parametrize("seconds", [0.05, 0.3, 0.7])
def test_kill_9_loses_nothing_that_was_acknowledged(home: Home, seconds: float) -> None:
    command = [sys.executable, "-c", WRITER, str(home.path)]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        time.sleep(seconds)
        os.kill(child.pid, signal.SIGKILL)
        lines = [line.split() for line in (first + child.stdout.read()).splitlines()]
    acknowledged = {kind: {words[1] for words in lines if words[0] == kind} for kind in ("start", "end", "result")}
    again = open_home(home.path)
    rows = {row.id: row for row in again.journal.iter("c")}
    assert acknowledged["start"] and acknowledged["start"] <= rows.keys()
    assert acknowledged["end"] <= {id for id, row in rows.items() if row.state == "finished"}
    assert acknowledged["result"] == acknowledged["result"] & again.results.get_many(acknowledged["result"]).keys()
    again.artifacts.put(b"the home still takes writes")
    again.close()


async def test_many_writers_share_few_commits(home: Home) -> None:
    ids = [home.journal.new_id() for _ in range(500)]
    start = [CallStart(id, "k", "c", "l", "t", "", 0, "r", "s", "m", "h", None, None, 1, 1) for id in ids]
    await asyncio.gather(*(home.journal.start(call) for call in start))
    assert [row.id for row in home.journal.iter("c")] == sorted(ids) == ids


async def test_one_bad_row_fails_alone(home: Home) -> None:
    insert = artifacts.insert()
    good = [home.database.group.write(insert, _artifact(f"{n}", b"x")) for n in range(20)]
    bad = home.database.group.write(insert, _artifact("bad", object()))
    twin = home.database.group.write(insert, _artifact("3", b"taken"))
    outcomes = await asyncio.gather(*good, bad, twin, return_exceptions=True)
    assert outcomes[:20] == [None] * 20
    assert isinstance(outcomes[20], Exception) and isinstance(outcomes[21], Exception)
    await home.database.group.write(insert, _artifact("after", b"x"))
    assert home.artifacts.get("3") == b"x" and home.artifacts.get("after") == b"x"


async def test_a_cancelled_waiter_disturbs_nobody(home: Home) -> None:
    insert = artifacts.insert()
    given_up = home.database.group.write(insert, _artifact("a", b"x"))
    given_up.cancel()
    await home.database.group.write(insert, _artifact("b", b"x"))
    assert home.artifacts.get("a") == home.artifacts.get("b") == b"x"


async def test_closing_commits_what_is_queued_and_then_refuses(home: Home) -> None:
    id = home.journal.new_id()
    home.journal.post_end(CallEnd(id, "finished"))
    insert = artifacts.insert()
    home.database.group.post(insert, _artifact("late", b"x"))
    home.close()
    with pytest.raises(WorldError, match="closed"):
        home.database.group.post(insert, _artifact("later", b"x"))
    again = open_home(home.path)
    assert again.artifacts.get("late") == b"x"
    again.close()


def test_a_loop_that_ended_early_takes_nobody_along(home: Home) -> None:
    async def leave() -> None:
        home.database.group.write(artifacts.insert(), _artifact("left", b"x"))

    asyncio.run(leave())

    async def stay() -> None:
        await home.database.group.write(artifacts.insert(), _artifact("stayed", b"x"))

    asyncio.run(stay())
    assert home.artifacts.get("left") == home.artifacts.get("stayed") == b"x"
