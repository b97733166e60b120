"""Case 32: several processes, a slow reader, a long transaction, a full disk and a read-only one on a store."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evolve.store import Home, NewVersion, open_home
from tests.e2e.conftest import write_project

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "PATH": os.environ.get("PATH", "/usr/bin:/bin")}

WRITER = """
import asyncio, sys
from pathlib import Path
from evolve.core.scores import Result, Score
from evolve.core.traces import RunStatus
from evolve.store import StoredResult, open_home
me, home = sys.argv[2], open_home(Path(sys.argv[1]))
async def work():
    for n in range(60):
        home.ledger.append(me, "row", str(n), {}, key=str(n))
        rows = [StoredResult(f"{me}/{n}/{i}", "t", "train", "f", 0, {}, Result("c", 0, RunStatus.FINISHED,
                Score.graded(1.0))) for i in range(5)]
        await asyncio.gather(*(home.results.put_async(row) for row in rows))
asyncio.run(work())
home.close()
print("done")
"""

HOLDER = """
import sys, time
from pathlib import Path
from evolve.store import open_home
home = open_home(Path(sys.argv[1]))
from sqlalchemy import text
with (home.database.write if sys.argv[2] == "write" else home.database.read)() as connection:
    connection.execute(text("SELECT count(*) FROM ledger")).one()
    print("holding", flush=True)
    time.sleep(float(sys.argv[3]))
    print(connection.execute(text("SELECT count(*) FROM ledger")).scalar_one())
home.close()
"""


def python(program: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("held", ["read", "write"])
def test_four_writers_beside_a_slow_reader_or_a_long_transaction_lose_nothing(home: Home, held: str) -> None:
    home.ledger.append("first", "row", "0", {}, key="0")
    holder = python(HOLDER, home.path, held, 3.0)
    assert holder.stdout is not None and holder.stdout.readline() == "holding\n"
    started = time.monotonic()
    writers = [python(WRITER, home.path, f"w{n}") for n in range(4)]
    for writer in writers:
        out, err = writer.communicate(timeout=120)
        assert out == "done\n", err
    seconds = time.monotonic() - started
    out, err = holder.communicate(timeout=60)
    # The reader sees one state all the while; the writers wait for a long transaction and for nothing else.
    assert out == "1\n", err
    assert seconds > 2.5 or held == "read"
    for n in range(4):
        assert [row.subject for row in home.ledger.rows(f"w{n}")] == [str(i) for i in range(60)]
        keys = [f"w{n}/{i}/{j}" for i in range(60) for j in range(5)]
        assert len(home.results.get_many(keys)) == 300


DRIVER = """
import asyncio, sys
from pathlib import Path
from evolve.campaign.observe import silent
from evolve.campaign.run import load_inputs, resume_campaign, start_campaign
from evolve.core.errors import EvolveError
from evolve.store import open_home
from tests.e2e.conftest import Project, make_rows
project = Project(Path(sys.argv[1]), make_rows(120))
try:
    home = open_home(Path(sys.argv[2]), create=True)
    inputs = load_inputs(project.campaign, {}, project.scripts())
    rows = [] if sys.argv[3:] == ["new"] else home.campaigns.list()
    work = resume_campaign(rows[0].id, inputs, home, silent) if rows else start_campaign(
        inputs, home, silent, path=project.campaign)
    print(asyncio.run(work).state["conclusion"])
except EvolveError as error:
    print(error.exit_code, type(error).__name__, str(error).replace(chr(10), " "))
"""

FULL = """
set -e
mount -t tmpfs -o size=900k none "$2"
"$3" -c "$4" "$1" "$2/home"
"$3" -c "$4" "$1" "$2/home"
mount -o remount,size=64m "$2"
"$3" -c "$4" "$1" "$2/home"
cp -r "$2/home" "$5"
"""

READ_ONLY = """
set -e
mount -t tmpfs -o size=64m none "$2"
"$3" -c "$4" "$1" "$2/home"
mount -o remount,ro "$2"
"$3" -c "$4" "$1" "$2/home" new
"""


def in_own_mounts(script: str, *arguments: object) -> list[str]:
    """Lines that a script prints in a mount namespace of its own; skips where that is not allowed."""
    probe = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none "$1"', "sh", str(arguments[1])]
    if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True).returncode != 0:
        pytest.skip("a file system of its own needs root and `unshare -m`")
    command = ["unshare", "-m", "sh", "-c", script, "sh", *map(str, arguments)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_a_full_disk_stops_a_campaign_with_its_reason_and_a_resume_ends_it(tmp_path: Path) -> None:
    write_project(tmp_path / "small", 120)
    (tmp_path / "disk").mkdir()
    lines = in_own_mounts(FULL, tmp_path / "small", tmp_path / "disk", sys.executable, DRIVER, tmp_path / "kept")
    assert len(lines) == 3, lines
    for line in lines[:2]:
        assert line.startswith("3 WorldError"), line
        assert "full" in line or "No space" in line, line
    assert lines[2] == "promoted", lines
    home = open_home(tmp_path / "kept")
    assert [row.number for row in home.versions.list("small")] == [1, 2]
    keys = [row.key for row in home.journal.iter("small-1") if row.state == "finished"]
    assert len(keys) == len(set(keys))
    home.close()


def test_a_read_only_home_is_refused_by_name(tmp_path: Path) -> None:
    write_project(tmp_path / "small", 120)
    (tmp_path / "disk").mkdir()
    lines = in_own_mounts(READ_ONLY, tmp_path / "small", tmp_path / "disk", sys.executable, DRIVER)
    assert lines[0] == "promoted"
    assert lines[1].startswith("3 WorldError"), lines
    assert "read-only" in lines[1] or "Read-only" in lines[1], lines


def test_a_reader_never_sees_a_version_without_its_pointer(home: Home) -> None:
    """A page that reads while versions are committed sees them and the pointer move together, or neither."""
    home.versions.commit_and_move(NewVersion("desk", {"n": 0}, {}, None, "seed", "seed"), expected=None)
    reader = open_home(home.path)
    writer = python(
        "import sys\nfrom pathlib import Path\nfrom evolve.store import NewVersion, open_home\n"
        "home = open_home(Path(sys.argv[1]))\n"
        "for n in range(1, 60):\n"
        "    home.versions.commit_and_move(NewVersion('desk', {'n': n}, {}, n, str(n), str(n)), expected=n)\n",
        home.path,
    )
    seen = set()
    while writer.poll() is None:
        live = reader.versions.pointer("desk")
        assert live is not None and reader.versions.get("desk", live).content["n"] == live - 1
        seen.add(live)
    _, err = writer.communicate()
    assert reader.versions.pointer("desk") == 60, err
    assert len(seen) > 3
    reader.close()
