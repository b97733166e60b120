"""Time that a run spends waiting for a free slot, for money or for a busy provider: it is not the harness's own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CURRENT: ContextVar[RunClock | None] = ContextVar("run_clock", default=None)


class RunClock:
    """The time limit of one run, stopped while at least one of its calls waits for something outside."""

    def __init__(self, limit: asyncio.Timeout) -> None:
        self._limit = limit
        self._waits = 0
        self._left = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Inside, `waiting` stops this clock."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)

    def stop(self) -> None:
        """One more call waits."""
        deadline = self._limit.when()
        if self._waits == 0 and deadline is not None and not self._limit.expired():
            self._left = deadline - asyncio.get_running_loop().time()
            self._limit.reschedule(None)
        self._waits += 1

    def go_on(self) -> None:
        """One call fewer waits; with none the clock goes on."""
        self._waits -= 1
        if self._waits == 0 and not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time() + self._left)


@contextmanager
def waiting() -> Iterator[None]:
    """What happens inside is a wait for the outside, and does not count against the limit of the current run."""
    clock = _CURRENT.get()
    if clock is None:
        yield
        return
    clock.stop()
    try:
        yield
    finally:
        clock.go_on()
