"""A model whose every call is reserved, written down, paid for once, and replayed for nothing."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal

from evolve.books.accounts import Account, Accounts
from evolve.books.budget import Amount, Budget, Reservation
from evolve.books.documents import Keeping
from evolve.books.owner import Owner
from evolve.books.prices import PriceBook, prompt_bound
from evolve.books.replies import Replies
from evolve.core.errors import EvolveError
from evolve.core.hashing import canonical_json
from evolve.core.messages import Capability, Model, ModelReply, ModelRequest, Usage
from evolve.core.traces import Spend
from evolve.store import CallEnd, CallStart, JournalStore

_NOT_REPORTED = "usage not reported: charged at its bound"
_ABANDONED = "cancelled in flight: charged at its bound"
_DEARER = "dearer than its bound"


@dataclass(frozen=True, slots=True)
class Desk:
    """What a booked call needs of the books."""

    budget: Budget
    prices: PriceBook
    journal: JournalStore
    keeping: Keeping
    accounts: Accounts
    replies: Replies


@dataclass(frozen=True, slots=True)
class _Bound:
    """What a call may take at most; `usd` is None without a price."""

    usage: Usage
    usd: Decimal | None


class _Occurrences:
    """Numbers equal requests of one step, lowest free number first: a failed call gives its number back."""

    def __init__(self) -> None:
        self._next: dict[tuple[str, str], int] = {}
        self._free: dict[tuple[str, str], list[int]] = {}

    @contextmanager
    def take(self, step: str, request_hash: str) -> Iterator[int]:
        slot = (step, request_hash)
        free = self._free.get(slot)
        if free:
            number = heapq.heappop(free)
        else:
            number = self._next.get(slot, 0)
            self._next[slot] = number + 1
        try:
            yield number
        except BaseException:
            heapq.heappush(self._free.setdefault(slot, []), number)
            raise


class BookedModel:
    """The face of `inner`. Its calls belong to one owner: a call key is the owner, the step, the request and its turn.

    A finished call is answered from the journal. Otherwise the order is: reserve, write `started` durably, ask, write
    the end durably, settle. Raises what `inner` raises, and BudgetExceeded before anything was started.
    """

    def __init__(self, inner: Model, owner: Owner, desk: Desk) -> None:
        self._inner = inner
        self._owner = owner
        self._desk = desk
        self._occurrences = _Occurrences()
        self._spend = Spend()
        self._account = Account(owner.role, owner.loop, owner.candidate)
        who = [owner.campaign, owner.loop, owner.candidate, owner.case, owner.repetition, owner.role, inner.identity]
        self._prefix = hashlib.sha256(canonical_json(who))

    @property
    def identity(self) -> str:
        """The inner model's."""
        return self._inner.identity

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The inner model's."""
        return self._inner.capabilities

    @property
    def spend(self) -> Spend:
        """What the calls through this wrapper cost, replayed ones at their first price."""
        return self._spend

    async def close(self) -> None:
        """The inner model is shared; whoever opened it closes it."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        """The journal's reply, or the inner model's, paid."""
        request_hash = request.request_hash
        with self._occurrences.take(request.step, request_hash) as occurrence:
            key = self._key(request.step, occurrence, request_hash)
            async with self._desk.replies.turn(key):
                earlier = self._desk.replies.find(key)
                if earlier is not None:
                    reply, spend = earlier
                    self._spend = self._spend + spend
                    return reply
                return await self._pay(request, key, request_hash)

    async def _pay(self, request: ModelRequest, key: str, request_hash: str) -> ModelReply:
        desk = self._desk
        bound = self._bound(request)
        start = self._start(request, key, request_hash, bound)
        reservation = await desk.budget.reserve_waiting(usd=bound.usd, tokens=bound.usage.total_tokens)
        sent = False
        try:
            await desk.journal.start(start)
            sent = True
            reply = await self._inner.reply(request)
            end = self._end(start, bound, reply)
        except EvolveError as error:
            self._fail(start, reservation, desk.keeping.failure(error))
            raise
        except BaseException:
            if sent:  # whatever ended it, the provider may have billed it
                self._abandon(start, reservation, bound)
            else:
                self._fail(start, reservation, "cancelled before it was sent")
            raise
        self._settle(reservation, end)
        await desk.journal.end(end)
        if end.reply is not None:
            desk.replies.remember(key, start.id)
        return reply

    def _key(self, step: str, occurrence: int, request_hash: str) -> str:
        digest = self._prefix.copy()
        digest.update(canonical_json([step, occurrence, request_hash]))
        return digest.hexdigest()

    def _bound(self, request: ModelRequest) -> _Bound:
        usage = Usage(prompt_bound(request), request.max_tokens)
        return _Bound(usage, self._desk.prices.bound(self.identity, request))

    def _start(self, request: ModelRequest, key: str, request_hash: str, bound: _Bound) -> CallStart:
        owner, keeping = self._owner, self._desk.keeping
        id = self._desk.journal.new_id()
        return CallStart(
            id=id,
            key=key if keeping.mode != "off" else id,
            campaign=owner.campaign,
            loop=owner.loop,
            candidate=owner.candidate,
            case=owner.case,
            repetition=owner.repetition,
            role=owner.role,
            step=request.step,
            model=self.identity,
            request_hash=keeping.request_hash(request_hash),
            request=keeping.request(request),
            reserved_usd=bound.usd,
            reserved_prompt_tokens=bound.usage.prompt_tokens,
            reserved_completion_tokens=bound.usage.completion_tokens,
        )

    def _end(self, start: CallStart, bound: _Bound, reply: ModelReply) -> CallEnd:
        usage, usd, note = self._bill(bound, reply.usage)
        return CallEnd(
            id=start.id,
            state="finished",
            usage=usage,
            usd=usd,
            reply=self._desk.keeping.reply(reply),
            reply_hash=self._desk.keeping.reply_hash(reply),
            seconds=reply.seconds,
            note=note,
        )

    def _bill(self, bound: _Bound, usage: Usage) -> tuple[Usage, Decimal | None, str]:
        """What to charge. Usage that is missing or impossible would make a cap worthless, so the bound is charged."""
        prices = self._desk.prices
        counts = (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, usage.cache_write_tokens)
        silent = usage.total_tokens == 0 and not prices.is_free(self.identity)
        if silent or min(counts) < 0 or usage.cached_tokens + usage.cache_write_tokens > usage.prompt_tokens:
            return bound.usage, bound.usd, _NOT_REPORTED
        usd = prices.price(self.identity, usage)
        over = usage.total_tokens > bound.usage.total_tokens or (usd or 0) > (bound.usd or 0)
        return usage, usd, _DEARER if over else ""

    def _fail(self, start: CallStart, reservation: Reservation, why: str) -> None:
        self._desk.budget.release(reservation)
        self._desk.journal.post_end(CallEnd(start.id, "failed", note=why))

    def _abandon(self, start: CallStart, reservation: Reservation, bound: _Bound) -> None:
        end = CallEnd(start.id, "abandoned", bound.usage, bound.usd, note=_ABANDONED)
        self._settle(reservation, end)
        self._desk.journal.post_end(end)

    def _settle(self, reservation: Reservation, end: CallEnd) -> None:
        spend = end.spend
        self._desk.budget.settle(reservation, Amount.of(spend))
        self._desk.accounts.add(self._account, spend)
        self._spend = self._spend + spend
