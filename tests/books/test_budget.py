"""Caps are reserved before a call, never exceeded, and exact to the last decimal."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.books import Amount, Budget, Caps
from evolve.core.errors import BudgetExceeded, UserError
from evolve.core.traces import Spend

BOUNDS = st.tuples(st.decimals("0", "0.5", places=9), st.integers(0, 500))
SHARES = st.decimals("0", "1", places=9)


def amount_within(caps: Caps, amount: Amount) -> bool:
    usd = caps.usd is None or amount.usd <= caps.usd
    return usd and (caps.calls is None or amount.calls <= caps.calls) and amount.tokens <= (caps.tokens or 10**12)


@settings(max_examples=40, deadline=None)
@given(
    calls=st.lists(
        st.tuples(BOUNDS, SHARES, st.sampled_from(["settle", "release", "cancel"])), min_size=64, max_size=96
    ),
    caps=st.builds(
        Caps,
        st.none() | st.integers(0, 60),
        st.none() | st.decimals("0", "8", places=6),
        st.none() | st.integers(0, 9000),
    ),
)
def test_a_cap_holds_at_every_moment_with_64_calls_at_once(calls: list, caps: Caps) -> None:
    budget, settled, refused = Budget(caps), [], []

    async def call(number: int, bound: tuple[Decimal, int], share: Decimal, end: str, slots: asyncio.Semaphore) -> None:
        async with slots:
            try:
                held = await budget.reserve_waiting(usd=bound[0], tokens=bound[1])
            except BudgetExceeded:
                refused.append(number)
                return
            open_now = Amount(
                budget.spent.calls + budget.reserved.calls,
                budget.spent.usd + budget.reserved.usd,
                budget.spent.tokens + budget.reserved.tokens,
            )
            assert amount_within(caps, open_now)
            for _ in range(number % 5):
                await asyncio.sleep(0)
            if end == "release":
                budget.release(held)
                return
            actual = held.amount if end == "cancel" else Amount(1, bound[0] * share, int(bound[1] * share))
            budget.settle(held, actual)
            settled.append(actual)

    async def run() -> None:
        slots = asyncio.Semaphore(64)
        await asyncio.wait_for(asyncio.gather(*(call(n, *c, slots) for n, c in enumerate(calls))), 20)

    asyncio.run(run())
    assert amount_within(caps, budget.spent)
    assert budget.reserved == Amount()
    assert budget.spent == Amount(len(settled), _exact_sum(a.usd for a in settled), sum(a.tokens for a in settled))
    if caps == Caps():
        assert not refused


def _exact_sum(values: Iterable[Decimal]) -> Decimal:
    """The sum by fractions, which cannot round."""
    total = sum((Fraction(value) for value in values), Fraction(0))
    return Context(prec=200).divide(Decimal(total.numerator), Decimal(total.denominator))


def test_threads_never_exceed_a_cap() -> None:
    budget, granted = Budget(Caps(calls=500)), []

    def take() -> None:
        for _ in range(100):
            try:
                held = budget.reserve()
            except BudgetExceeded:
                return
            granted.append(1)
            budget.settle(held, Amount(1))

    threads = [threading.Thread(target=take) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == budget.spent.calls == 500


def test_a_refusal_names_the_cap_and_holds_nothing() -> None:
    budget = Budget(Caps(usd=Decimal("1")), Amount(3, Decimal("0.75"), 10))
    with pytest.raises(BudgetExceeded, match=r"usd cap has \$0\.25 left, the next call may need \$0\.26"):
        budget.reserve(usd=Decimal("0.26"))
    assert budget.reserved == Amount()
    budget.reserve(usd=Decimal("0.25"))


def test_sums_do_not_round() -> None:
    budget = Budget(Caps(usd=Decimal(10**6)))
    for usd in ("999999", "1e-30", "0.1", "0.2"):
        budget.settle(budget.reserve(usd=Decimal(usd)), Amount(1, Decimal(usd)))
    assert budget.spent.usd == Decimal("999999.300000000000000000000000000001")


async def test_a_call_waits_for_reservations_that_may_come_back() -> None:
    budget = Budget(Caps(usd=Decimal("1")))
    held = await budget.reserve_waiting(usd=Decimal("0.9"))
    waiting = asyncio.create_task(budget.reserve_waiting(usd=Decimal("0.5")))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    budget.settle(held, Amount(1, Decimal("0.01")))
    assert (await waiting).amount.usd == Decimal("0.5")


async def test_a_call_that_can_never_fit_is_refused_at_once_and_a_waiter_when_hope_is_gone() -> None:
    budget = Budget(Caps(usd=Decimal("1")))
    held = await budget.reserve_waiting(usd=Decimal("0.9"))
    with pytest.raises(BudgetExceeded):
        await budget.reserve_waiting(usd=Decimal("1.1"))
    waiting = asyncio.create_task(budget.reserve_waiting(usd=Decimal("0.5")))
    await asyncio.sleep(0)
    budget.settle(held, Amount(1, Decimal("0.9")))
    with pytest.raises(BudgetExceeded):
        await waiting


async def test_a_cancelled_waiter_holds_nothing() -> None:
    budget = Budget(Caps(calls=1))
    held = await budget.reserve_waiting()
    first, second = (asyncio.create_task(budget.reserve_waiting()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    budget.release(held)
    first.cancel()
    kept = await second
    await asyncio.gather(first, return_exceptions=True)
    assert budget.reserved.calls == 1
    budget.release(kept)
    assert budget.reserved == Amount()


async def test_a_waiter_cancelled_after_its_grant_gives_it_back() -> None:
    budget = Budget(Caps(calls=1))
    held = await budget.reserve_waiting()
    waiter = asyncio.create_task(budget.reserve_waiting())
    await asyncio.sleep(0)
    budget.release(held)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert budget.reserved == Amount()


def test_a_reservation_ends_once() -> None:
    budget = Budget(Caps())
    held = budget.reserve()
    budget.settle(held, Amount(1))
    for end in (budget.release, lambda r: budget.settle(r, Amount(1))):
        with pytest.raises(ValueError, match="before"):
            end(held)
    assert budget.spent == Amount(1)


@pytest.mark.parametrize("usd", ["NaN", "Infinity", "-1"])
def test_a_figure_that_could_switch_a_cap_off_is_refused(usd: str) -> None:
    with pytest.raises(UserError):
        Caps(usd=Decimal(usd))
    with pytest.raises(ValueError):
        Amount(1, Decimal(usd))


def test_sums_of_spending_are_as_exact_as_the_budget() -> None:
    large, small = Decimal(10) ** 20, Decimal(1).scaleb(-20)
    assert (Spend(usd=large) + Spend(usd=small)).usd == Decimal("100000000000000000000.00000000000000000001")
