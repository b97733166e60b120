"""The books of one campaign: journal, budget and prices behind every model call."""

from __future__ import annotations

from evolve.books.accounts import Account, Accounts, Part
from evolve.books.budget import Amount, Budget, Caps
from evolve.books.documents import JournalMode, Keeping
from evolve.books.model import BookedModel, Desk
from evolve.books.owner import Owner
from evolve.books.prices import PriceBook
from evolve.books.replies import Replies
from evolve.books.slots import UNLIMITED, Slots
from evolve.core.errors import UserError
from evolve.core.messages import Model
from evolve.core.traces import Spend
from evolve.store import Home


class Books:
    """Opens on the journal of `campaign`: what was paid counts against the caps, and finished calls are replayed.

    Calls that were in flight when an earlier process died count at their reserved amount for ever: nobody knows. With
    `closed` nothing is asked: what the journal does not answer fails as it failed then, or as NotRecorded.
    """

    def __init__(
        self,
        home: Home,
        campaign: str,
        caps: Caps,
        prices: PriceBook,
        journal: JournalMode = "full",
        *,
        closed: bool = False,
    ) -> None:
        self.campaign = campaign
        self._accounts = Accounts()
        self._keeping = Keeping(journal)
        replies = Replies(home.journal)
        for row in home.journal.iter(campaign):
            self._accounts.add(Account(row.role, row.loop, row.candidate), row.spend)
            replies.read(row)
        self.budget = Budget(caps, Amount.of(self.spend()))
        self.prices = prices
        self._desk = Desk(self.budget, prices, home.journal, self._keeping, self._accounts, replies, closed)

    def model(self, inner: Model, owner: Owner, slots: Slots = UNLIMITED) -> BookedModel:
        """`inner` with every call booked to `owner`, in a slot. UserError for a dollar cap on an unpriced model."""
        caps = self.budget.caps
        if caps.usd is not None and caps.calls is None and not self.prices.knows(inner.identity):
            raise UserError(
                f"the model {inner.identity!r} has no known price, so a cap of ${caps.usd} could not be kept",
                place="budget.usd",
                fix="state its price in budget.prices, or cap the calls as well with budget.calls",
            )
        return BookedModel(inner, owner, self._desk, slots)

    def spend(self, role: str | None = None, loop: str | None = None, candidate: str | None = None) -> Spend:
        """What was spent, of one role, loop and candidate where given; replayed calls count once."""
        return self._accounts.total(Account(role, loop, candidate))

    def by(self, part: Part) -> dict[str, Spend]:
        """What was spent by each role, loop or candidate."""
        return self._accounts.by(part)

    def notes(self) -> tuple[str, ...]:
        """What every report of this campaign must say about its books."""
        found = []
        if self._keeping.mode != "full":
            found.append(f"journal: {self._keeping.mode}: replies are not kept, so a resume pays finished calls again")
        unpriced = self.spend().unpriced_calls
        if unpriced:
            found.append(f"{unpriced} calls have no known price: dollars are a lower bound")
        return tuple(found)

    async def close(self) -> None:
        """Nothing is open here: rows are durable when their calls return, and the home commits the rest."""
