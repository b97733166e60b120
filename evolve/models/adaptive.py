"""Slots that learn how many calls a provider takes at once, and leave it alone when it asks for that."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from evolve.core.errors import WorldError
from evolve.core.messages import ModelReply
from evolve.models.limit import GENTLE, HALF, AdaptiveLimit
from evolve.models.retrying import RetryPolicy, ask_long_wait

Tell = Callable[[str], None]
"""Told in a sentence that the limit was halved or that a pause began; must return quickly and must not raise."""

_JITTER = 0.1
"""The share of an asked wait by which a pause is at most longer: other processes were told to wait as long."""
_RAMP = 0.25
"""The share of an asked wait, and the most seconds, over which calls start again after a pause."""
_RAMP_SECONDS = 1.0


def tell_nobody(text: str) -> None:
    """The listener of slots that nobody watches."""


@dataclass(frozen=True, slots=True)
class SlotState:
    """A look at adaptive slots: calls in flight (limit, start, lowest, highest), counts of calls, and seconds."""

    limit: int
    start: int
    lowest: int
    highest: int
    in_flight: int
    waiting: int
    answers: int
    refusals: int
    pauses: int
    seconds_paused: float


@dataclass(frozen=True, slots=True)
class SlotSurroundings:
    """What slots take from outside: monotonic seconds, the time of day for messages, random numbers, a listener."""

    clock: Callable[[], float] = time.monotonic
    today: Callable[[], datetime] = lambda: datetime.now(UTC)
    rng: random.Random = field(default_factory=random.Random)
    tell: Tell = tell_nobody


@dataclass(frozen=True, slots=True, eq=False)
class _Use:
    """One call in its slot. `epoch` tells which cuts of the limit came after it began."""

    epoch: int
    tell: Callable[[ModelReply], None]

    def answered(self, reply: ModelReply) -> None:
        """Tells the slots that an answer came, and in what time."""
        self.tell(reply)


class AdaptiveSlots:
    """At most as many calls as an AdaptiveLimit says, 1 to `most`; the others wait in order of arrival.

    A refusal (a passing fault that cost nothing, as 429, 503 and 529 are) halves the limit; refusals of calls that
    began before the last cut belong to the same burst. A call that was lost on the way takes a tenth.

    When a provider asks to wait, no call begins until that has passed; then they begin one after the other. Nobody
    waits longer than `longest_asked` seconds: until such a wait has passed, `take` raises a WorldError that halts.
    """

    def __init__(
        self,
        most: int,
        *,
        name: str = "the model",
        longest_asked: float = RetryPolicy().longest_asked,
        around: SlotSurroundings | None = None,
    ) -> None:
        self._limit = AdaptiveLimit(most)
        self._name = name
        self._longest_asked = longest_asked
        self._around = around or SlotSurroundings()
        self._waiters: deque[asyncio.Future[_Use]] = deque()
        self._alarm: asyncio.TimerHandle | None = None
        self._in_flight = self._answers = self._refusals = self._pauses = 0
        self._paused_until = self._next_start = self._closed_until = float("-inf")
        self._closed_by = WorldError("")
        self._paused = self._gap = 0.0
        self._ramp = 0

    @asynccontextmanager
    async def take(self) -> AsyncIterator[_Use]:
        """A slot for the length of the block. WorldError that halts while the provider wants a long wait."""
        use = await self._enter()
        try:
            yield use
        except WorldError as fault:
            self._learn(use, fault)
            raise
        finally:
            self._leave()

    def state(self) -> SlotState:
        """How things stand, for reports."""
        limit = self._limit
        left = max(0.0, self._paused_until - self._around.clock())
        return SlotState(
            limit=limit.now,
            start=limit.start,
            lowest=limit.lowest,
            highest=limit.highest,
            in_flight=self._in_flight,
            waiting=len(self._waiters),
            answers=self._answers,
            refusals=self._refusals,
            pauses=self._pauses,
            seconds_paused=self._paused - left,
        )

    async def _enter(self) -> _Use:
        if self._around.clock() < self._closed_until:
            raise self._closed()
        waiter: asyncio.Future[_Use] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self._admit()
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            elif not waiter.cancelled() and waiter.exception() is None:
                self._leave()
            raise

    def _leave(self) -> None:
        self._in_flight -= 1
        self._admit()

    def _admit(self) -> None:
        """Lets in who may begin now, first come first served; sets the alarm where only the time is missing."""
        while self._waiters and self._in_flight < self._limit.now:
            now = self._around.clock()
            quiet = max(self._paused_until, self._next_start) - now
            if quiet > 0:
                self._set_alarm(quiet)
                return
            waiter = self._waiters.popleft()
            if waiter.done():
                continue
            self._in_flight += 1
            if self._ramp:
                self._ramp -= 1
                self._next_start = now + self._around.rng.uniform(0, self._gap)
            waiter.set_result(_Use(self._limit.epoch, self._answered))

    def _set_alarm(self, seconds: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_later(seconds, self._admit)

    def _answered(self, reply: ModelReply) -> None:
        self._answers += 1
        self._limit.answered(reply, full=self._in_flight >= self._limit.now)
        self._admit()

    def _learn(self, use: _Use, fault: WorldError) -> None:
        """What a fault says about the provider; a refusal of one request, or of all for good, says nothing of it."""
        asked = fault.retry_after
        if fault.passing and not fault.halts:
            if fault.maybe_billed and asked is None:
                self._limit.cut(GENTLE, use.epoch, self._in_flight)
            else:
                self._refusals += 1
                self._halve(use, fault)
        if asked is not None and asked > self._longest_asked:
            self._close(asked, fault)
        elif asked:
            self._pause(asked)

    def _halve(self, use: _Use, fault: WorldError) -> None:
        before = self._limit.now
        if self._limit.cut(HALF, use.epoch, self._in_flight) and self._limit.now < before:
            why = str(fault).splitlines()[0][:160]
            self._around.tell(f"{self._name}: calls in flight lowered from {before} to {self._limit.now} ({why})")

    def _pause(self, asked: float) -> None:
        now = self._around.clock()
        until = now + asked * (1 + self._around.rng.uniform(0, _JITTER))
        if until <= self._paused_until:
            return
        if now >= self._paused_until:
            self._pauses += 1
            self._around.tell(f"{self._name}: asks to wait {asked:.3g} s, no call begins until then")
        self._paused += until - max(now, self._paused_until)
        self._paused_until = until
        self._ramp = self._limit.now
        self._gap = min(_RAMP_SECONDS, _RAMP * asked) / self._ramp

    def _close(self, asked: float, fault: WorldError) -> None:
        self._closed_until = max(self._closed_until, self._around.clock() + asked)
        self._closed_by = fault
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_exception(self._closed())

    def _closed(self) -> WorldError:
        left = self._closed_until - self._around.clock()
        return ask_long_wait(self._closed_by, left, self._around.today())
