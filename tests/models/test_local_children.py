"""The local model's child processes: they end with their parent, survive nothing that hangs, and come back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evolve.core.errors import WorldError
from evolve.core.messages import Message, ModelRequest
from evolve.models.local import LocalModel, WorkerPlan
from evolve.models.local.weights import find_weights

ROOT = Path(__file__).resolve().parents[2]
PLAN = WorkerPlan("local:smollm2-135m", find_weights("smollm2-135m"))
PARENT = """
import asyncio, sys, time
from evolve.core.messages import Message, ModelRequest
from evolve.models.local import LocalModel, WorkerPlan
from evolve.models.local.weights import find_weights
async def main():
    model = LocalModel(WorkerPlan("local:smollm2-135m", find_weights("smollm2-135m")), workers=1)
    await model.reply(ModelRequest((Message("user", "Hi"),), max_tokens=2))
    print(model.workers[0].process_id, flush=True)
    time.sleep(60)
asyncio.run(main())
"""


def ask(text: str, tokens: int = 4) -> ModelRequest:
    return ModelRequest((Message("user", text),), max_tokens=tokens)


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    return state != "Z"


def test_a_killed_parent_takes_its_child_with_it() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_alive(child)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        deadline = time.monotonic() + 5
        while is_alive(child) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not is_alive(child)


async def test_a_child_that_was_killed_is_started_again() -> None:
    model = LocalModel(PLAN, workers=1)
    try:
        first = await model.reply(ask("Say hello."))
        process = model.workers[0].process_id
        assert process is not None
        os.kill(process, signal.SIGKILL)
        assert (await model.reply(ask("Say hello."))).text == first.text
        assert model.workers[0].process_id != process
    finally:
        await model.close()


async def test_a_call_over_its_time_ends_that_worker_and_the_next_call_works() -> None:
    model = LocalModel(PLAN, workers=1, timeout_seconds=1.0)
    try:
        await model.reply(ask("Hi", 1))
        started = time.monotonic()
        with pytest.raises(WorldError, match="no reply within 1 s"):
            await model.reply(ask("Write a very long story about the sea.", 2000))
        assert time.monotonic() - started < 6
        assert (await model.reply(ask("Hi", 1))).usage.completion_tokens == 1
    finally:
        await model.close()


async def test_close_ends_the_children() -> None:
    model = LocalModel(PLAN, workers=1)
    await model.reply(ask("Hi", 1))
    process = model.workers[0].process_id
    assert process is not None
    await model.close()
    assert not is_alive(process)
