"""execute: run status, limits of the harness, roles, and that every call lands in the trace's spend."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
import yaml

from evolve.core.errors import UserError
from evolve.core.messages import ModelRequest
from evolve.core.traces import RunStatus, Spend
from evolve.models.scripted import ScriptedModel
from evolve.run.execute import Executor, RunKey
from evolve.run.trace_json import cut, trace_document
from evolve.store import Home


def harness(limits: dict[str, Any] | None = None, nodes: int = 1) -> dict[str, bytes]:
    manifest: dict[str, Any] = {"schema": 1, "name": "plain", "workflow": "workflow.yaml", "limits": limits or {}}
    names = [f"n{i}" for i in range(nodes)]
    graph = {
        name: {"operator": "generate", "params": {"prompt": "prompts/ask.md", "parse": "text"}, "next": after}
        for name, after in zip(names, [*names[1:], "end"], strict=True)
    }
    return {
        "harness.yaml": yaml.safe_dump(manifest).encode(),
        "workflow.yaml": yaml.safe_dump({"schema": 1, "start": "n0", "nodes": graph}).encode(),
        "prompts/ask.md": b"{input}",
    }


def executor(home: Home, reply: Any, latency: float = 0.0, role: str = "agent") -> Executor:
    model = ScriptedModel("test", reply, latency)
    return Executor(home.trees, lambda _key: ({role: model}, Spend), None)


def key(home: Home, files: dict[str, bytes]) -> RunKey:
    return RunKey(home.trees.put(files), "case", 0, "test")


async def test_a_finished_run_has_one_step_for_each_node(home: Home) -> None:
    trace = await executor(home, lambda _r, _g: "done").execute(key(home, harness(nodes=3)), "hello")
    assert trace.status is RunStatus.FINISHED
    assert trace.output == "done"
    assert [step.node for step in trace.steps] == ["n0", "n1", "n2"]


async def test_its_own_time_out_is_a_harness_fault_with_the_steps_so_far(home: Home) -> None:
    files = harness({"timeout_seconds": 0.25}, nodes=3)
    trace = await executor(home, lambda _r, _g: "slow", latency=0.1).execute(key(home, files), "hello")
    assert trace.status is RunStatus.HARNESS_FAULT
    assert "timed out after 0.25 s" in trace.error
    assert len(trace.steps) >= 2


async def test_its_own_call_limit_is_a_harness_fault(home: Home) -> None:
    trace = await executor(home, lambda _r, _g: "x").execute(key(home, harness({"max_calls": 2}, nodes=3)), "hello")
    assert trace.status is RunStatus.HARNESS_FAULT
    assert "max_calls 2" in trace.error


async def test_a_missing_model_role_is_the_users_error(home: Home) -> None:
    with pytest.raises(UserError, match="agent"):
        await executor(home, lambda _r, _g: "x", role="judge").execute(key(home, harness()), "hello")


async def test_an_invalid_tree_is_refused_before_any_call(home: Home) -> None:
    files = harness()
    files["workflow.yaml"] = files["workflow.yaml"].replace(b"n0:", b"n9:")
    calls: list[ModelRequest] = []

    def reply(request: ModelRequest, _rng: random.Random) -> str:
        calls.append(request)
        return "x"

    with pytest.raises(UserError):
        await executor(home, reply).execute(key(home, files), "hello")
    assert calls == []


async def test_a_cancelled_run_is_cancelled(home: Home) -> None:
    work = executor(home, lambda _r, _g: "x", latency=5.0).execute(key(home, harness()), "hello")
    task = asyncio.create_task(work)
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_long_output_is_cut_in_the_stored_trace_and_says_so(home: Home) -> None:
    trace = await executor(home, lambda _r, _g: "ü" * 200_000).execute(key(home, harness()), "hello")
    document = trace_document(trace, limit=1000)
    assert document["truncated"]
    assert len(document["output"].encode()) < 1200
    assert cut("short", 1000) == ("short", False)
