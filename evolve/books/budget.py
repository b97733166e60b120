"""The budget: hard caps that are reserved before a call and settled after it."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from dataclasses import dataclass, field
from decimal import Context, Decimal

from evolve.core.errors import BudgetExceeded, UserError
from evolve.core.traces import Spend

_DIGITS = 60
"""Enough for any sum of prices without rounding; the default context would round after 28."""


@dataclass(frozen=True, slots=True)
class Caps:
    """What a campaign may cost at most; None: no cap. UserError for a cap that could never bind (NaN, negative)."""

    calls: int | None = None
    usd: Decimal | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        for name in ("calls", "usd", "tokens"):
            cap = getattr(self, name)
            if cap is not None and not (Decimal(cap).is_finite() and cap >= 0):
                raise UserError(f"{cap} is not a cap", place=f"budget.{name}", fix="give a number that is not negative")


@dataclass(frozen=True, slots=True)
class Amount:
    """Calls, dollars and tokens together."""

    calls: int = 0
    usd: Decimal = field(default=Decimal(0))
    tokens: int = 0

    def __post_init__(self) -> None:
        if self.calls < 0 or self.tokens < 0 or not self.usd.is_finite() or self.usd < 0:
            raise ValueError(f"an amount is finite and not negative: {self.calls}, {self.usd}, {self.tokens}")

    @classmethod
    def of(cls, spend: Spend) -> Amount:
        """What a Spend takes from a budget."""
        return cls(spend.calls, spend.usd, spend.usage.total_tokens)


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """A part of the budget that is held for one call until it is settled or released."""

    amount: Amount


@dataclass(slots=True, eq=False)
class _Waiter:
    amount: Amount
    future: asyncio.Future[Reservation]
    granted: Reservation | None = None


class Budget:
    """Reserved + spent never exceed a cap. Safe for threads and tasks of one process.

    `spent` is what an earlier run of the same campaign has used. A call that turns out dearer than its reservation is
    booked as it is, and the next reservation sees it.
    """

    def __init__(self, caps: Caps, spent: Amount | None = None) -> None:
        self.caps = caps
        self._spent = spent or Amount()
        self._reserved = Amount()
        self._open: set[Reservation] = set()
        self._waiters: deque[_Waiter] = deque()
        self._lock = threading.Lock()
        self._exact = Context(prec=_DIGITS)

    @property
    def spent(self) -> Amount:
        """Everything settled so far."""
        return self._spent

    @property
    def reserved(self) -> Amount:
        """Everything held for calls in flight."""
        return self._reserved

    def reserve(self, *, calls: int = 1, usd: Decimal | None = None, tokens: int = 0) -> Reservation:
        """Holds an amount, or raises BudgetExceeded and holds nothing. `usd` None: a call without a price."""
        amount = Amount(calls, usd or Decimal(0), tokens)
        with self._lock:
            refusal = self._refusal(amount, self._committed())
            if refusal is not None:
                raise refusal
            return self._hold(amount)

    async def reserve_waiting(self, *, calls: int = 1, usd: Decimal | None = None, tokens: int = 0) -> Reservation:
        """As `reserve`, but waits, first come first served, while calls in flight may still give back enough.

        Reservations are bounds, often ten times the bill: without waiting, a cap would be called reached long before.
        """
        amount = Amount(calls, usd or Decimal(0), tokens)
        with self._lock:
            refusal = self._refusal(amount, self._committed())
            if refusal is None and not self._waiters:
                return self._hold(amount)
            hopeless = self._refusal(amount, self._spent)
            if hopeless is not None or not self._open:
                raise hopeless or refusal or BudgetExceeded("calls", str(calls), "0")
            waiter = _Waiter(amount, asyncio.get_running_loop().create_future())
            self._waiters.append(waiter)
        return await self._granted(waiter)

    def settle(self, reservation: Reservation, actual: Amount) -> None:
        """Replaces a reservation by what the call really took. ValueError when it is not open."""
        with self._lock:
            self._let_go(reservation)
            self._spent = self._sum(self._spent, actual)
            self._grant_waiting()

    def release(self, reservation: Reservation) -> None:
        """Gives a reservation back whole: the call cost nothing. ValueError when it is not open."""
        with self._lock:
            self._let_go(reservation)
            self._grant_waiting()

    async def _granted(self, waiter: _Waiter) -> Reservation:
        try:
            return await waiter.future
        except asyncio.CancelledError:
            with self._lock:
                if waiter.granted is not None:
                    self._let_go(waiter.granted)
                elif waiter in self._waiters:
                    self._waiters.remove(waiter)
                self._grant_waiting()
            raise

    def _grant_waiting(self) -> None:
        while self._waiters:
            waiter = self._waiters[0]
            refusal = self._refusal(waiter.amount, self._committed())
            if refusal is None:
                waiter.granted = self._hold(waiter.amount)
            elif self._open and self._refusal(waiter.amount, self._spent) is None:
                return
            self._waiters.popleft()
            waiter.future.get_loop().call_soon_threadsafe(_answer, waiter, refusal)

    def _refusal(self, amount: Amount, base: Amount) -> BudgetExceeded | None:
        """Why `amount` on top of `base` does not fit under the caps."""
        after = self._sum(base, amount)
        for name, unit in (("calls", ""), ("usd", "$"), ("tokens", "")):
            cap, need = getattr(self.caps, name), getattr(amount, name)
            if cap is not None and getattr(after, name) > cap:
                left = max(cap - getattr(base, name), 0)
                return BudgetExceeded(name, f"{unit}{need}", f"{unit}{left}")
        return None

    def _committed(self) -> Amount:
        return self._sum(self._spent, self._reserved)

    def _hold(self, amount: Amount) -> Reservation:
        reservation = Reservation(amount)
        self._open.add(reservation)
        self._reserved = self._sum(self._reserved, amount)
        return reservation

    def _let_go(self, reservation: Reservation) -> None:
        if reservation not in self._open:
            raise ValueError("this reservation was settled or released before")
        self._open.remove(reservation)
        held, gone = self._reserved, reservation.amount
        usd = self._exact.subtract(held.usd, gone.usd)
        self._reserved = Amount(held.calls - gone.calls, usd, held.tokens - gone.tokens)

    def _sum(self, a: Amount, b: Amount) -> Amount:
        return Amount(a.calls + b.calls, self._exact.add(a.usd, b.usd), a.tokens + b.tokens)


def _answer(waiter: _Waiter, refusal: BudgetExceeded | None) -> None:
    if waiter.future.done():
        return
    if waiter.granted is not None:
        waiter.future.set_result(waiter.granted)
    elif refusal is not None:
        waiter.future.set_exception(refusal)
