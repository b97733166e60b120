"""kill -9 at every durable write and at random moments: does every campaign end as if nothing had happened?

    python benchmarks/chaos.py [--quick] [--json] [--kills N] [--seed S]

A parent that has imported everything forks a child for each turn. A child runs a small campaign with a scripted model
and is killed at a numbered durable write: just before or just after a commit of any of its databases, a git object or a
git reference. The next child resumes and is killed again, at another write or at a random time; a third one ends the
campaign, and a fourth tries to resume what has ended. Each ending is compared with that of an uninterrupted run.

`violations` counts endings that differ in any way that lasts: version hash and content, versions, pointers, verdict,
ledger, error budget, git branch, sums of the books, a result that was acknowledged and is gone. `repaid_calls` counts
calls that were paid beyond those of the uninterrupted run and those in flight when a kill came.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import signal
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}  # a parent that forks has one thread

from chaos_child import Kill, inspect, run_child, warm_up, write_project

FAST_DISK = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Homes live in memory where there is such a folder: a kill ends the process, not the machine."""

TURN_SECONDS = 60.0
BATCH = 4
"""Trials a worker is given at a time."""


@dataclass
class Tally:
    """What all trials together showed."""

    kills: int = 0
    violations: int = 0
    repaid_calls: int = 0
    in_flight_calls: int = 0
    trials: int = 0
    points: set[int] = field(default_factory=set)
    stories: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Counts another tally in."""
        for name in ("kills", "violations", "repaid_calls", "in_flight_calls", "trials"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.points |= other.points
        self.stories += other.stories


@dataclass(frozen=True)
class Setting:
    """Where trials are made, how the uninterrupted run ended, how many durable points it passed and its seconds."""

    base: Path
    wanted: dict[str, Any]
    points: int
    seconds: float


def fork(work: Any, *arguments: Any, kill_after: float | None = None) -> bool:
    """Runs `work` in a child; True when it ended by itself, False when it was killed. RuntimeError when it failed."""
    pid = os.fork()
    if pid == 0:
        try:
            work(*arguments)
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    started = time.monotonic()
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        late = time.monotonic() - started > TURN_SECONDS
        if late or (kill_after is not None and time.monotonic() - started > kill_after):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            if late:
                raise RuntimeError(f"a turn did not end within {TURN_SECONDS:g} s")
            return False
        time.sleep(0.002)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    if os.waitstatus_to_exitcode(status) != 0:
        raise RuntimeError(f"a turn failed with status {status}; its traceback is above")
    return True


def look(folder: Path) -> dict[str, Any]:
    """What a home holds, read in a child of its own."""
    target = folder / "seen.json"
    fork(inspect, folder, target)
    return dict(json.loads(target.read_text()))


def uninterrupted(template: Path, folder: Path) -> tuple[dict[str, Any], int, float]:
    """The ending of a run that nobody kills, how many durable writes it made, and its seconds."""
    shutil.copytree(template, folder)
    started = time.monotonic()
    fork(run_child, folder, None)
    seconds = time.monotonic() - started
    return look(folder), int((folder / "points").read_text()), seconds


def trial(setting: Setting, seed: int) -> Tally:
    """Two kills, an ending, and a resume of what has ended."""
    rng, tally = random.Random(seed), Tally(trials=1)
    folder = setting.base / f"trial {seed}"
    shutil.copytree(setting.base / "template", folder)
    acknowledged: set[str] = set()
    for turn in range(2):
        timed = turn == 1 and seed % 2 == 0
        point = 1 + rng.randrange(setting.points) if turn else 1 + seed % setting.points
        wait = rng.uniform(0.0, setting.seconds) if timed else None
        if not fork(run_child, folder, None if timed else Kill(point), kill_after=wait):
            tally.kills += 1
            tally.points |= set() if timed else {point}
            tally.in_flight_calls += look(folder)["in_flight"]
            acknowledged |= acknowledged_results(folder)
    fork(run_child, folder, None)
    before = look(folder)
    fork(run_child, folder, None)
    after = look(folder)
    problems = differences(setting.wanted, before)
    problems += [f"after a resume of what had ended: {problem}" for problem in differences(before, after)]
    lost = acknowledged - set(after["results"])
    problems += [f"{len(lost)} acknowledged results are gone"] if lost else []
    tally.repaid_calls = max(0, after["asked"] - setting.wanted["asked"] - tally.in_flight_calls)
    tally.violations = len(problems)
    tally.stories = [f"trial {seed}: {problem}" for problem in problems]
    shutil.rmtree(folder)
    return tally


def acknowledged_results(folder: Path) -> set[str]:
    """Keys of the results that a killed child had been told are kept."""
    file = folder / "acknowledged"
    return set(file.read_text().split()) if file.exists() else set()


def differences(wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """The lasting facts that differ, and books that do not add up."""
    facts = ("status", "conclusion", "hashes", "versions", "pointers", "ledger", "alpha", "branch", "results")
    problems = [
        f"{name}: {found[name]!r:.300} instead of {wanted[name]!r:.300}"
        for name in facts
        if found[name] != wanted[name]
    ]
    return problems + list(found["books"])


def run(kills: int, seed: int, every_point: bool, workers: int = 2) -> tuple[Tally, dict[str, Any]]:
    """At least so many kills, and with `every_point` one at each. Trials run side by side; each forks its children."""
    warm_up()
    total = Tally()
    with tempfile.TemporaryDirectory(dir=FAST_DISK) as scratch:
        base = Path(scratch)
        write_project(base / "template")
        wanted, points, seconds = uninterrupted(base / "template", base / "whole")
        if problems := wanted["books"]:
            raise RuntimeError(f"the uninterrupted run does not add up: {problems}")
        setting = Setting(base, wanted, points, seconds)
        number = seed
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("fork")) as pool:
            while total.kills < kills or (every_point and total.trials < points):
                numbers = range(number, number + workers * BATCH)
                number = numbers.stop
                for part in pool.map(trial, [setting] * len(numbers), numbers):
                    total.add(part)
    return total, {"durable_writes": points, "calls": wanted["asked"], "conclusion": wanted["conclusion"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="20 kills instead of one at every durable write")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--kills", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    every_point = not options.quick and options.kills is None
    started = time.monotonic()
    total, facts = run(options.kills or (300 if every_point else 20), options.seed, every_point)
    if not options.json:
        print(
            f"{facts['durable_writes']} durable writes, {facts['calls']} calls in a run that ends {facts['conclusion']}"
        )
        print("\n".join(total.stories) or "every campaign ended as the uninterrupted one")
    print(
        json.dumps(
            {
                "kills": total.kills,
                "violations": total.violations,
                "repaid_calls": total.repaid_calls,
                "in_flight_calls": total.in_flight_calls,
                "trials": total.trials,
                "points_hit": len(total.points),
                **facts,
                "seconds": round(time.monotonic() - started, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
