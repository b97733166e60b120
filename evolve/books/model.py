"""A model whose every call is reserved, written down, paid for once, and replayed for nothing."""

from __future__ import annotations

import hashlib
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from evolve.books.accounts import Account, Accounts
from evolve.books.billing import Charge, bill, bound_charge
from evolve.books.budget import Amount, Budget, Reservation
from evolve.books.documents import LOST, Keeping, read_failure
from evolve.books.occurrences import Occurrences
from evolve.books.owner import Owner
from evolve.books.prices import PriceBook
from evolve.books.recorded import NotRecorded
from evolve.books.replies import Replies
from evolve.books.slots import UNLIMITED, Slots
from evolve.core.errors import EvolveError, WorldError
from evolve.core.hashing import canonical_json
from evolve.core.messages import Capability, Model, ModelReply, ModelRequest
from evolve.core.traces import Spend
from evolve.core.waiting import waiting
from evolve.store import CallEnd, CallStart, JournalStore

_ABANDONED = "cancelled in flight: charged at its bound"


@dataclass(frozen=True, slots=True)
class Desk:
    """What a booked call needs of the books."""

    budget: Budget
    prices: PriceBook
    journal: JournalStore
    accounts: Accounts
    replies: Replies
    closed: bool = False


class BookedModel:
    """The face of `inner`. Its calls belong to one owner: a call key is the owner, the step, the request and its turn.

    A finished call is answered from the journal. Otherwise the order is: take a slot, reserve, write `started` durably,
    ask, settle, write the end durably. Every attempt is a call of its own. Raises what `inner` raises, and
    BudgetExceeded before anything was started.
    """

    def __init__(self, inner: Model, owner: Owner, desk: Desk, keeping: Keeping, slots: Slots = UNLIMITED) -> None:
        self._inner = inner
        self._slots = slots
        self._owner = owner
        self._desk = desk
        self._keeping = keeping
        self._occurrences = Occurrences()
        self._spend = Spend()
        self._counted: set[str] = set()
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
        """What the calls through this wrapper cost, with what was lost on them; replayed ones at their first price."""
        return self._spend

    async def close(self) -> None:
        """The inner model is shared; whoever opened it closes it."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        """The journal's reply, or the inner model's, paid."""
        request_hash = request.request_hash
        with self._occurrences.take(request.step, request_hash) as occurrence:
            key = self._key(request.step, occurrence, request_hash)
            async with self._desk.replies.turn(key):
                self._count_lost(key)
                earlier = self._desk.replies.find(key)
                if earlier is not None:
                    reply, spend = earlier
                    self._spend = self._spend + spend
                    if request.on_text is not None and reply.text:
                        request.on_text(reply.text)
                    return reply
                if self._desk.closed:
                    raise self._unanswered(request, key, request_hash)
                async with AsyncExitStack() as stack:
                    with waiting():
                        slot = await stack.enter_async_context(self._slots.take())
                    reply = await self._pay(request, key, request_hash)
                    slot.answered(reply)
                    return reply

    async def _pay(self, request: ModelRequest, key: str, request_hash: str) -> ModelReply:
        desk, request = self._desk, replace(request, call=key)
        bound = bound_charge(desk.prices, self.identity, request)
        start = self._start(request, key, request_hash, bound)
        with waiting():
            reservation = await desk.budget.reserve_waiting(usd=bound.usd, tokens=bound.usage.total_tokens)
        sent = False
        try:
            await desk.journal.start(start)
            sent = True
            reply = await self._ask(request)
            end = self._end(start, bound, reply)
        except EvolveError as error:
            if isinstance(error, WorldError) and error.maybe_billed:
                self._desk.replies.lose(key, self._abandon(start, reservation, bound, LOST))
            else:
                self._fail(start, reservation, self._keeping.failure(error))
            raise
        except BaseException:
            if sent:  # whatever ended it, the provider may have billed it
                self._abandon(start, reservation, bound, _ABANDONED)
            else:
                self._fail(start, reservation, "cancelled before it was sent")
            raise
        self._settle(reservation, end)
        await desk.journal.end(end)
        desk.replies.took(key, end)
        return reply

    async def _ask(self, request: ModelRequest) -> ModelReply:
        """The inner model's reply. A follower hears the whole text at the end where the provider did not stream."""
        if request.on_text is None:
            return await self._inner.reply(request)
        heard = False
        tell = request.on_text

        def follow(piece: str) -> None:
            nonlocal heard
            heard = True
            tell(piece)

        reply = await self._inner.reply(replace(request, on_text=follow))
        if not heard and reply.text:
            tell(reply.text)
        return reply

    def _unanswered(self, request: ModelRequest, key: str, request_hash: str) -> Exception:
        """What a closed journal says to a call without a reply: its recorded failure again, or that it is unknown."""
        row = self._desk.replies.failure(key)
        if row is not None and row.note == _ABANDONED:  # what cancels a call is the time limit of its run
            return TimeoutError(row.note)
        if row is not None and (row.state == "failed" or row.note == LOST):
            return read_failure(row.note)
        return NotRecorded(self._owner, request.step, request_hash)

    def _key(self, step: str, occurrence: int, request_hash: str) -> str:
        digest = self._prefix.copy()
        digest.update(canonical_json([step, occurrence, request_hash]))
        return digest.hexdigest()

    def _start(self, request: ModelRequest, key: str, request_hash: str, bound: Charge) -> CallStart:
        owner, keeping = self._owner, self._keeping
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

    def _end(self, start: CallStart, bound: Charge, reply: ModelReply) -> CallEnd:
        charge, keeping = bill(self._desk.prices, self.identity, reply.usage, bound), self._keeping
        kept, remark = keeping.reply(reply)
        return CallEnd(
            id=start.id,
            state="finished",
            usage=charge.usage,
            usd=charge.usd,
            reply=kept,
            reply_hash=keeping.reply_hash(reply),
            seconds=reply.seconds,
            note="; ".join(filter(None, (charge.note, remark))),
        )

    def _fail(self, start: CallStart, reservation: Reservation, why: str) -> None:
        self._desk.budget.release(reservation)
        self._desk.journal.post_end(CallEnd(start.id, "failed", note=why))

    def _abandon(self, start: CallStart, reservation: Reservation, bound: Charge, why: str) -> Spend:
        end = CallEnd(start.id, "abandoned", bound.usage, bound.usd, note=why)
        self._settle(reservation, end)
        self._desk.journal.post_end(end)
        return end.spend

    def _count_lost(self, key: str) -> None:
        """What others lost on this call before: so a run costs the same at first, after a resume and in a replay."""
        if key not in self._counted:
            self._counted.add(key)
            self._spend = self._spend + self._desk.replies.lost(key)

    def _settle(self, reservation: Reservation, end: CallEnd) -> None:
        spend = end.spend
        self._desk.budget.settle(reservation, Amount.of(spend))
        self._desk.accounts.add(self._account, spend)
        self._spend = self._spend + spend
