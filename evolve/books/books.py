"""The books of one campaign: journal, budget and prices behind every model call."""

from __future__ import annotations

from evolve.books.accounts import Account, Accounts, Part
from evolve.books.budget import Amount, Budget, Caps
from evolve.books.documents import JournalMode, JournalModes, Keeping
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

    `journal` says what of the calls' text is kept, by role. Calls that were in flight when an earlier process died
    count at their reserved amount for ever: nobody knows. With `closed` nothing is asked: what the journal does not
    answer fails as it failed then, or as NotRecorded.
    """

    def __init__(
        self,
        home: Home,
        campaign: str,
        caps: Caps,
        prices: PriceBook,
        journal: JournalModes | JournalMode = "full",
        *,
        closed: bool = False,
    ) -> None:
        self.campaign = campaign
        self._accounts = Accounts()
        self._modes = journal if isinstance(journal, JournalModes) else JournalModes(journal)
        self._home = home
        self._roles: set[str] = set()
        replies = Replies(home.journal)
        for row in home.journal.iter(campaign):
            self._accounts.add(Account(row.role, row.loop, row.candidate), row.spend)
            replies.read(row)
            self._roles.add(row.role)
        self.budget = Budget(caps, Amount.of(self.spend()))
        self.prices = prices
        self._desk = Desk(self.budget, prices, home.journal, self._accounts, replies, closed)
        self._replies = replies

    def model(self, inner: Model, owner: Owner, slots: Slots = UNLIMITED) -> BookedModel:
        """`inner` with every call booked to `owner`, in a slot. UserError for a dollar cap on an unpriced model."""
        caps = self.budget.caps
        if caps.usd is not None and caps.calls is None and not self.prices.knows(inner.identity):
            raise UserError(
                f"the model {inner.identity!r} has no known price, so a cap of ${caps.usd} could not be kept",
                place="budget.usd",
                fix="state its price in budget.prices, or cap the calls as well with budget.calls",
            )
        self._roles.add(owner.role)
        keeping = Keeping(self._modes.of(owner.role), self._home.redactor)
        return BookedModel(inner, owner, self._desk, keeping, slots)

    def spend(self, role: str | None = None, loop: str | None = None, candidate: str | None = None) -> Spend:
        """What was spent, of one role, loop and candidate where given; replayed calls count once."""
        return self._accounts.total(Account(role, loop, candidate))

    def by(self, part: Part) -> dict[str, Spend]:
        """What was spent by each role, loop or candidate."""
        return self._accounts.by(part)

    def notes(self) -> tuple[str, ...]:
        """What every report of this campaign must say about its books."""
        found = []
        for role in self._modes.silent(self._roles):
            mode = self._modes.of(role)
            found.append(f"journal: {mode} for {role}: its replies are not kept, so a resume pays its calls again")
        if self._replies.redacted:
            found.append(f"{self._replies.redacted} replies hold a secret: kept redacted, so a resume pays them again")
        unpriced = self.spend().unpriced_calls
        if unpriced:
            found.append(f"{unpriced} calls have no known price: dollars are a lower bound")
        return tuple(found)

    async def close(self) -> None:
        """Nothing is open here: rows are durable when their calls return, and the home commits the rest."""
