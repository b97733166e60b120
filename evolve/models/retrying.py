"""A wrapper that tries again when a fault is passing, and only then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from evolve.core.errors import WorldError
from evolve.core.messages import Capability, Model, ModelReply, ModelRequest


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`attempts` counts the first call too; all waits are in seconds.

    A provider that asks for more than `longest_asked` is not waited for: the fault is raised, so that the caller can
    stop and resume later.
    """

    attempts: int = 5
    first_wait: float = 0.5
    longest_wait: float = 20.0
    jitter: float = 0.5
    longest_asked: float = 60.0


class RetryingModel:
    """Retries passing WorldErrors of `inner` with exponential waits and jitter, never sooner than a provider asks."""

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
        attempts = AsyncRetrying(
            retry=retry_if_exception(self._may_pass),
            stop=stop_after_attempt(self._policy.attempts),
            wait=self._choose_wait,
            sleep=self._sleep,
            reraise=True,
        )
        return await attempts(self._inner.reply, request)

    async def close(self) -> None:
        """Closes the inner model."""
        await self._inner.close()

    def _may_pass(self, fault: BaseException) -> bool:
        if not isinstance(fault, WorldError) or not fault.passing:
            return False
        return fault.retry_after is None or fault.retry_after <= self._policy.longest_asked

    def _choose_wait(self, state: RetryCallState) -> float:
        fault = state.outcome.exception() if state.outcome else None
        asked = fault.retry_after if isinstance(fault, WorldError) else None
        return max(self._backoff(state), asked or 0.0)
