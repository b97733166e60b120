"""Slots: the seam through which calls of one model wait for each other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from evolve.core.messages import ModelReply


class Slots(Protocol):
    """How many calls of one model may be in flight. A call takes a slot first, before it reserves money."""

    def take(self) -> AbstractAsyncContextManager[SlotUse]:
        """Waits for a slot and, after a refusal, until calls are welcome again. Raises WorldError for a long wait."""
        ...


class SlotUse(Protocol):
    """One call in its slot. An error that leaves the block is seen by the slots themselves."""

    def answered(self, reply: ModelReply) -> None:
        """Tells the slots that an answer came, and in what time."""
        ...


class _Unlimited:
    """No limit at all."""

    @asynccontextmanager
    async def take(self) -> AsyncIterator[_Unlimited]:
        yield self

    def answered(self, reply: ModelReply) -> None:
        """Nothing to learn."""


UNLIMITED: Slots = _Unlimited()
