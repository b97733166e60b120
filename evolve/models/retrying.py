"""A wrapper that tries again when a fault is passing, and only then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from evolve.core.errors import WorldError
from evolve.core.messages import Capability, Model, ModelReply, ModelRequest
from evolve.core.waiting import waiting


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`attempts` counts the first call too; all waits are in seconds.

    A provider that asks for more than `longest_asked` is not waited for: the fault is raised as one that halts, so that
    the campaign stops and is resumed later.
    """

    attempts: int = 5
    first_wait: float = 0.5
    longest_wait: float = 20.0
    jitter: float = 0.5
    longest_asked: float = 60.0


class Hearing:
    """A request whose follower, where there is one, is overheard."""

    def __init__(self, request: ModelRequest) -> None:
        self.begun = False
        self._tell = request.on_text
        self.request = request if self._tell is None else replace(request, on_text=self._hear)

    def _hear(self, piece: str) -> None:
        self.begun = True
        if self._tell is not None:
            self._tell(piece)


class RetryingModel:
    """Retries passing WorldErrors of `inner` with exponential waits and jitter, never sooner than a provider asks.

    A reply whose text has begun to arrive is not asked for again: its follower has heard the beginning.
    """

    def __init__(
        self,
        inner: Model,
        policy: RetryPolicy = RetryPolicy(),
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._inner = inner
        self._policy = policy
        self._backoff = wait_exponential_jitter(
            multiplier=policy.first_wait, max=policy.longest_wait, jitter=policy.jitter
        )
        self._sleep = sleep

    async def _wait(self, seconds: float) -> None:
        with waiting():
            await self._sleep(seconds)

    @property
    def identity(self) -> str:
        """The inner model's."""
        return self._inner.identity

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The inner model's."""
        return self._inner.capabilities

    async def reply(self, request: ModelRequest) -> ModelReply:
        """The inner model's reply; after the last attempt its last WorldError."""
        try:
            if self._policy.attempts == 1:
                return await self._inner.reply(request)
            return await self._try_again(Hearing(request))
        except WorldError as fault:
            raise self._halted(fault) from fault.__cause__

    async def close(self) -> None:
        """Closes the inner model."""
        await self._inner.close()

    async def _try_again(self, heard: Hearing) -> ModelReply:
        attempts = AsyncRetrying(
            retry=retry_if_exception(lambda fault: not heard.begun and self._may_pass(fault)),
            stop=stop_after_attempt(self._policy.attempts),
            wait=self._choose_wait,
            sleep=self._wait,
            reraise=True,
        )
        return await attempts(self._inner.reply, heard.request)

    def _may_pass(self, fault: BaseException) -> bool:
        if not isinstance(fault, WorldError) or not fault.passing or fault.halts:
            return False
        return fault.retry_after is None or fault.retry_after <= self._policy.longest_asked

    def _halted(self, fault: WorldError) -> WorldError:
        """The fault, as one that halts the campaign when the provider asks for a long wait."""
        asked = fault.retry_after
        if fault.halts or not fault.passing or asked is None or asked <= self._policy.longest_asked:
            return fault
        return ask_long_wait(fault, asked, datetime.now(UTC), maybe_billed=fault.maybe_billed)

    def _choose_wait(self, state: RetryCallState) -> float:
        fault = state.outcome.exception() if state.outcome else None
        asked = fault.retry_after if isinstance(fault, WorldError) else None
        return max(self._backoff(state), asked or 0.0)


def ask_long_wait(fault: WorldError, asked: float, now: datetime, *, maybe_billed: bool = False) -> WorldError:
    """A fault that halts the campaign for `fault`, whose provider asks to wait `asked` seconds from `now`."""
    words = f"{fault}\n  fix: the provider asks to wait {asked:,.0f} s; resume after {_until(now, asked)}"
    return WorldError(words, retry_after=asked, halts=True, maybe_billed=maybe_billed)


def _until(now: datetime, seconds: float) -> str:
    try:
        return f"{now + timedelta(seconds=seconds):%Y-%m-%d %H:%M} UTC"
    except OverflowError:
        return "a date that no calendar has"
