"""One child process of a local model: started when first needed, ended on a time-out, started again after a crash."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import httpx

from evolve.core.errors import WorldError
from evolve.models.local.prompts import shared_prefix

_SERVER = Path(__file__).with_name("server.py")
_REMEMBERED_PROMPTS = 16
_STDERR_TAIL = 400


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """`cache_mib` bounds the host memory in which the server keeps evaluated prompts that left its slot."""

    name: str
    weights: Path
    context_tokens: int = 4096
    threads: int = 1
    cache_mib: int = 512
    start_seconds: float = 60.0


class Worker:
    """A server with one slot. Its user makes one call at a time."""

    def __init__(self, plan: WorkerPlan) -> None:
        self._plan = plan
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: IO[bytes] | None = None
        self._client: httpx.AsyncClient | None = None
        self._recent: deque[str] = deque(maxlen=_REMEMBERED_PROMPTS)
        self.key = secrets.token_hex(16)
        self.address = ""

    @property
    def running(self) -> bool:
        """Whether the child is alive."""
        return self._process is not None and self._process.poll() is None

    @property
    def process_id(self) -> int | None:
        """The child's process id while it runs."""
        return self._process.pid if self._process is not None and self.running else None

    def familiarity(self, prompt: str) -> int:
        """Characters of `prompt` that one of the last prompts began with."""
        return max((shared_prefix(prompt, seen) for seen in self._recent), default=0)

    def remember(self, prompt: str) -> None:
        """Notes a prompt that this worker has evaluated."""
        self._recent.append(prompt)

    async def call(self, route: str, body: dict[str, Any], timeout: float) -> tuple[int, Any]:
        """Posts to the server: HTTP status and decoded JSON. A child that died is started again once.

        Raises WorldError: passing when the call took longer than `timeout` seconds, else when the child died twice.
        """
        for last_chance in (False, True):
            await self.start()
            try:
                async with asyncio.timeout(timeout):
                    return await self._post(route, body)
            except TimeoutError:
                self.end()
                raise WorldError(f"{self._plan.name}: no reply within {timeout:g} s; its worker was ended") from None
            except httpx.TransportError as fault:
                cause = self._last_words() or type(fault).__name__
                self.end()
                if last_chance:
                    raise WorldError(f"{self._plan.name}: the worker died twice: {cause}", passing=False) from fault
            except asyncio.CancelledError:
                # The child may be deep in a long evaluation; the next call must not wait for it.
                self.end()
                raise
        raise AssertionError("unreachable")

    async def start(self) -> None:
        """Starts the child unless it runs, and waits until it answers."""
        if self.running:
            return
        self.end()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the child
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            start_new_session=True,
        )
        try:
            await self._introduce(self._process)
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """Kills the child if there is one; it has nothing to save."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout, self._stderr):
                if pipe is not None:
                    pipe.close()
        self._process = self._stderr = None
        self._recent.clear()

    async def close(self) -> None:
        """Kills the child and closes the client; safe to call twice."""
        self.end()
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _post(self, route: str, body: dict[str, Any]) -> tuple[int, Any]:
        if self._client is None:
            # No connection is kept: the child may be another one next time, and so may the event loop.
            self._client = httpx.AsyncClient(
                trust_env=False, verify=False, timeout=None, limits=httpx.Limits(max_keepalive_connections=0)
            )
        answer = await self._client.post(
            self.address + route, json=body, headers={"Authorization": f"Bearer {self.key}"}
        )
        return answer.status_code, answer.json()

    async def _introduce(self, process: subprocess.Popen[bytes]) -> None:
        """Hands the plan to the child and waits for its address, which it sends when the weights are loaded."""
        assert process.stdin is not None and process.stdout is not None
        plan = self._plan
        wish = {
            "parent": os.getpid(),
            "key": self.key,
            "weights": str(plan.weights),
            "context_tokens": plan.context_tokens,
            "threads": plan.threads,
            "cache_mib": plan.cache_mib,
        }
        process.stdin.write(json.dumps(wish).encode() + b"\n")
        process.stdin.flush()
        waiting = asyncio.to_thread(process.stdout.readline)
        try:
            line = await asyncio.wait_for(waiting, plan.start_seconds)
        except TimeoutError:
            raise WorldError(f"{plan.name}: no server within {plan.start_seconds:g} s") from None
        if not line:
            raise WorldError(f"{plan.name}: the server did not start: {self._last_words()}", passing=False)
        self.address = json.loads(line)["address"]

    def _last_words(self) -> str:
        """The end of what the child wrote to standard error."""
        if self._stderr is None:
            return ""
        self._stderr.seek(0)
        return self._stderr.read().decode("utf-8", "replace").strip()[-_STDERR_TAIL:]
