"""An opened model: its provider, its slots and its retries, put together with or without books in between."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from evolve.books import UNLIMITED, BookedModel, Books, Owner, Slots
from evolve.core.messages import Capability, Model, ModelReply, ModelRequest
from evolve.core.traces import Spend
from evolve.models.retrying import RetryingModel, RetryPolicy


class PaidModel(RetryingModel):
    """Retries around a booked model, so that every attempt is a call of its own in the books."""

    def __init__(
        self,
        booked: BookedModel,
        policy: RetryPolicy,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(booked, policy, sleep=sleep)
        self._booked = booked

    @property
    def spend(self) -> Spend:
        """What all attempts through this model have cost."""
        return self._booked.spend


@dataclass(frozen=True)
class OpenedModel:
    """One provider's model. It may be asked directly; what has to be paid for goes through `booked`."""

    provider: Model
    slots: Slots = UNLIMITED
    retry: RetryPolicy = RetryPolicy(attempts=1)

    @property
    def identity(self) -> str:
        """The provider's."""
        return self.provider.identity

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The provider's."""
        return self.provider.capabilities

    def booked(self, books: Books, owner: Owner) -> PaidModel:
        """This model with every attempt booked to `owner`. UserError as in `Books.model`."""
        return PaidModel(books.model(self.provider, owner, self.slots), self.retry)

    async def reply(self, request: ModelRequest) -> ModelReply:
        """An answer that is in no books: for checks, never for campaigns."""
        return await RetryingModel(_Slotted(self.provider, self.slots), self.retry).reply(request)

    async def close(self) -> None:
        """Closes the provider."""
        await self.provider.close()


@dataclass(frozen=True)
class _Slotted:
    """A provider asked from inside a slot."""

    provider: Model
    slots: Slots

    @property
    def identity(self) -> str:
        return self.provider.identity

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self.provider.capabilities

    async def reply(self, request: ModelRequest) -> ModelReply:
        async with self.slots.take() as slot:
            reply = await self.provider.reply(request)
            slot.answered(reply)
            return reply

    async def close(self) -> None:
        await self.provider.close()
