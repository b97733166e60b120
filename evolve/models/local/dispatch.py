"""Which idle worker takes the next call: the one that has seen the longest part of its prompt before."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from evolve.models.local.worker import Worker


class Dispatch:
    """Lends each worker to one call at a time; calls that find none idle wait in order of arrival."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        self._idle = list(workers)
        self._waiting: deque[asyncio.Future[Worker]] = deque()

    @asynccontextmanager
    async def borrow(self, prompt: str) -> AsyncIterator[Worker]:
        """A worker for the duration of one call with this prompt."""
        worker = self._choose(prompt) if self._idle else await self._wait()
        try:
            yield worker
            worker.remember(prompt)
        finally:
            self._give(worker)

    def _choose(self, prompt: str) -> Worker:
        chosen = max(self._idle, key=lambda worker: (worker.familiarity(prompt), worker.running))
        self._idle.remove(chosen)
        return chosen

    async def _wait(self) -> Worker:
        turn: asyncio.Future[Worker] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give(turn.result())
            raise

    def _give(self, worker: Worker) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(worker)
                return
        self._idle.append(worker)
