"""A wrapper that bounds how many calls of a model are in flight."""

from __future__ import annotations

import asyncio

from evolve.core.messages import Capability, Model, ModelReply, ModelRequest


class LimitedModel:
    """At most `limit` replies of `inner` at a time; the others wait in order of arrival."""

    def __init__(self, inner: Model, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"limit is at least 1, not {limit}")
        self._inner = inner
        self._slots = asyncio.Semaphore(limit)

    @property
    def identity(self) -> str:
        """The inner model's."""
        return self._inner.identity

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The inner model's."""
        return self._inner.capabilities

    async def reply(self, request: ModelRequest) -> ModelReply:
        """The inner model's reply, once a slot is free."""
        async with self._slots:
            return await self._inner.reply(request)

    async def close(self) -> None:
        """Closes the inner model."""
        await self._inner.close()
