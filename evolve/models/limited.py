"""A fixed bound on how many calls of a model are in flight."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from evolve.core.messages import ModelReply


class FixedSlots:
    """At most `limit` calls at a time; the others wait in order of arrival."""

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"limit is at least 1, not {limit}")
        self._slots = asyncio.Semaphore(limit)

    @asynccontextmanager
    async def take(self) -> AsyncIterator[FixedSlots]:
        """A slot for the length of the block."""
        async with self._slots:
            yield self

    def answered(self, reply: ModelReply) -> None:
        """A fixed bound learns nothing."""
