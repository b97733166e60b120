"""Booked calls: paid once, replayed for nothing, charged when cancelled, and equal in journal, budget and sums."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from evolve.books import Amount, Books, Caps, Owner, PriceBook
from evolve.core.errors import BudgetExceeded, UserError, WorldError
from evolve.core.messages import Capability, Message, ModelReply, ModelRequest, Usage
from evolve.core.traces import Spend
from evolve.store import Home, open_home

PROJECT = Path(__file__).parents[2]
PRICED = "openai:gpt-4o-mini"


class Scripted:
    """A model that counts its calls; what it does next is in `plan`: a reply, an error, or a pause for ever."""

    capabilities: frozenset[Capability] = frozenset()

    def __init__(self, identity: str = PRICED, usage: Usage | None = None) -> None:
        self.identity = identity
        self.usage = usage if usage is not None else Usage(20, 5)
        self.calls = 0
        self.plan: list[Exception | str] = []
        self.seconds = 0.0

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.calls += 1
        step = self.plan.pop(0) if self.plan else "reply"
        if isinstance(step, Exception):
            raise step
        await asyncio.sleep(3600 if step == "hang" else self.seconds)
        return ModelReply(f"answer {self.calls} \u2028\ud800", self.usage, label_logprobs={"a": -0.5}, seconds=0.25)

    async def close(self) -> None:
        raise AssertionError("whoever opened the model closes it")


def owner(case: str = "case", role: str = "agent", loop: str = "harness", candidate: str = "t") -> Owner:
    return Owner("c", loop, candidate, case, 0, role)


def request(text: str = "question with some words in it", step: str = "node", seed: int = 0) -> ModelRequest:
    return ModelRequest((Message("user", text),), max_tokens=50, seed=seed, step=step)


def open_books(home: Home, caps: Caps | None = None, **options: str) -> Books:
    return Books(home, "c", caps or Caps(calls=1000), PriceBook(), **options)  # type: ignore[arg-type]


def journal_sum(home: Home) -> Spend:
    return sum((row.spend for row in home.journal.iter("c")), Spend())


def check_sums(home: Home, books: Books) -> None:
    """The law: journal, budget and breakdowns say the same, now and after reopening."""
    total = journal_sum(home)
    assert books.spend() == total
    assert books.budget.spent == Amount.of(total)
    assert books.budget.reserved == Amount()
    for part in ("role", "loop", "candidate"):
        assert sum(books.by(part).values(), Spend()) == total
        assert home.journal.spend_by("c", part) == books.by(part)
    assert open_books(home).spend() == total


async def test_a_finished_call_is_replayed_and_not_paid_again(home: Home) -> None:
    inner = Scripted()
    first = open_books(home).model(inner, owner())
    replies = [await first.reply(request()), await first.reply(request()), await first.reply(request(step="other"))]
    books = open_books(home)
    again = books.model(inner, owner())
    assert [
        await again.reply(request()),
        await again.reply(request()),
        await again.reply(request(step="other")),
    ] == replies
    assert inner.calls == 3 and len({r.text for r in replies}) == 3
    assert again.spend == first.spend == books.spend() == Spend(3, Usage(60, 15), Decimal("0.000018"))
    check_sums(home, books)


@pytest.mark.parametrize(
    "change",
    [
        {"owner": owner(case="other")},
        {"owner": owner(role="proposer")},
        {"owner": owner(loop="gate")},
        {"owner": owner(candidate="u")},
        {"request": request(seed=1)},
        {"request": request(step="x")},
        {"inner": Scripted("openai:gpt-4o")},
    ],
)
async def test_another_owner_step_request_or_model_is_another_call(home: Home, change: dict[str, object]) -> None:
    books = open_books(home)
    base = {"owner": owner(), "request": request(), "inner": Scripted()}
    for asked in (base, {**base, **change}):
        await books.model(asked["inner"], asked["owner"]).reply(asked["request"])  # type: ignore[arg-type]
    assert books.spend().calls == 2


async def test_what_cost_what_is_told_apart(home: Home) -> None:
    books, inner = open_books(home), Scripted()
    await books.model(inner, owner(role="agent", loop="harness", candidate="t")).reply(request())
    await books.model(inner, owner(role="agent", loop="gate", candidate="u")).reply(request())
    await books.model(inner, owner(role="proposer", loop="harness", candidate="t")).reply(request())
    assert books.spend(role="agent").calls == books.spend(loop="harness").calls == 2
    assert books.spend(role="agent", loop="harness", candidate="t").calls == 1
    assert {name: spend.calls for name, spend in books.by("candidate").items()} == {"t": 2, "u": 1}
    check_sums(home, books)


async def test_a_failed_call_is_released_and_asked_again(home: Home) -> None:
    books, inner = open_books(home), Scripted()
    inner.plan = [WorldError("429"), UserError("too long"), "reply"]
    model = books.model(inner, owner())
    for error in (WorldError, UserError):
        with pytest.raises(error):
            await model.reply(request())
    reply = await model.reply(request())
    # Replayed as the first occurrence: a failure must not use up a turn, or a resume would pay again.
    assert await open_books(home).model(inner, owner()).reply(request()) == reply
    assert inner.calls == 3 and books.spend().calls == 1
    assert sorted(row.state for row in home.journal.iter("c")) == ["failed", "failed", "finished"]
    check_sums(home, books)


async def test_a_call_cancelled_in_flight_is_charged_at_its_bound(home: Home) -> None:
    books, inner = open_books(home), Scripted()
    inner.plan = ["hang"]
    model = books.model(inner, owner())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await model.reply(request())
    bound = PriceBook().bound(PRICED, request())
    assert model.spend == Spend(1, Usage(request().prompt_bytes, 50), bound) == books.spend()
    home.close()
    again = open_home(home.path)
    (row,) = again.journal.iter("c")
    assert (row.state, row.usd, row.note) == ("abandoned", bound, "cancelled in flight: charged at its bound")
    check_sums(again, books)
    again.close()


async def test_a_call_cancelled_before_it_was_sent_costs_nothing(home: Home) -> None:
    books, inner = open_books(home), Scripted()
    task = asyncio.create_task(books.model(inner, owner()).reply(request()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert inner.calls == 0 and books.spend() == Spend() and books.budget.reserved == Amount()


async def test_a_crash_of_the_model_still_charges(home: Home) -> None:
    books, inner = open_books(home), Scripted()
    inner.plan = [ZeroDivisionError()]
    with pytest.raises(ZeroDivisionError):
        await books.model(inner, owner()).reply(request())
    assert books.spend().calls == 1 and books.budget.reserved == Amount()


@pytest.mark.parametrize("usage", [Usage(), Usage(-5, 10), Usage(10, 5, cached_tokens=11)])
async def test_usage_that_is_missing_or_impossible_is_charged_at_the_bound(home: Home, usage: Usage) -> None:
    books = open_books(home)
    await books.model(Scripted(usage=usage), owner()).reply(request())
    assert books.spend().usd == PriceBook().bound(PRICED, request())
    (row,) = home.journal.iter("c")
    assert "charged at its bound" in row.note
    check_sums(home, books)


async def test_two_askers_of_one_key_share_one_payment(home: Home) -> None:
    books, inner = open_books(home), Scripted()
    inner.seconds = 0.01
    models = [books.model(inner, owner()) for _ in range(8)]
    replies = await asyncio.gather(*(model.reply(request()) for model in models))
    assert inner.calls == 1 and all(reply == replies[0] for reply in replies)
    check_sums(home, books)


async def test_no_call_starts_beyond_a_cap_with_64_in_flight_and_paid_replies_are_kept(home: Home) -> None:
    books, inner = open_books(home, Caps(calls=100)), Scripted()
    inner.seconds = 0.002
    slots = asyncio.Semaphore(64)

    async def ask(number: int) -> ModelReply:
        async with slots:
            return await books.model(inner, owner(case=str(number))).reply(request())

    outcomes = await asyncio.gather(*(ask(n) for n in range(200)), return_exceptions=True)
    paid = [n for n, outcome in enumerate(outcomes) if isinstance(outcome, ModelReply)]
    assert inner.calls == len(paid) == books.spend().calls == 100
    assert all(isinstance(o, ModelReply | BudgetExceeded) for o in outcomes)
    assert len(list(home.journal.iter("c"))) == 100
    replayed = open_books(home, Caps(calls=100)).model(inner, owner(case=str(paid[0])))
    assert await replayed.reply(request()) == outcomes[paid[0]] and inner.calls == 100
    check_sums(home, books)


async def test_a_dollar_cap_uses_what_bounds_give_back(home: Home) -> None:
    price = PriceBook().price(PRICED, Usage(20, 5))
    bound = PriceBook().bound(PRICED, request())
    assert price is not None and bound is not None and bound > 2 * price
    cap = 30 * price + bound
    books, inner = open_books(home, Caps(usd=cap)), Scripted()
    inner.seconds = 0.001
    jobs = [books.model(inner, owner(case=str(n))).reply(request()) for n in range(200)]
    outcomes = await asyncio.gather(*jobs, return_exceptions=True)
    assert sum(isinstance(o, ModelReply) for o in outcomes) == inner.calls == 31
    assert books.budget.spent.usd == 31 * price <= cap
    check_sums(home, books)


def test_a_dollar_cap_needs_a_price_or_a_call_cap(home: Home) -> None:
    nameless = Scripted("openai:homemade@http://localhost:1/v1")
    with pytest.raises(UserError, match=r"no known price.*\n  fix: .*budget\.calls"):
        open_books(home, Caps(usd=Decimal(1))).model(nameless, owner())
    open_books(home, Caps(usd=Decimal(1), calls=5)).model(nameless, owner())


async def test_an_unpriced_call_is_counted_and_said(home: Home) -> None:
    books = open_books(home)
    await books.model(Scripted("openai:homemade@http://localhost:1/v1"), owner()).reply(request())
    assert books.spend() == Spend(1, Usage(20, 5), Decimal(0), unpriced_calls=1)
    assert "1 calls have no known price" in books.notes()[0]
    check_sums(home, books)


@pytest.mark.parametrize("mode", ["hash", "off"])
async def test_without_bodies_nothing_of_the_text_is_stored_and_the_books_stay_exact(home: Home, mode: str) -> None:
    books, inner = open_books(home, journal=mode), Scripted()
    inner.plan = ["reply", WorldError("the secret was echoed")]
    model = books.model(inner, owner())
    await model.reply(request("the secret"))
    with pytest.raises(WorldError):
        await model.reply(request("the secret", step="two"))
    await books.model(inner, owner("last")).reply(request("other"))
    rows = list(home.journal.iter("c"))
    for row in rows:
        assert home.journal.request(row.id) is home.journal.reply(row.id) is None
        assert "secret" not in repr(row)
        assert bool(row.request_hash) == (mode == "hash")
    assert f"journal: {mode}" in books.notes()[0]
    check_sums(home, books)
    await open_books(home, journal=mode).model(inner, owner()).reply(request("the secret"))
    assert inner.calls == 4


async def test_the_request_is_kept_for_reports(home: Home) -> None:
    books = open_books(home)
    await books.model(Scripted(), owner()).reply(request("é\u2028"))
    (row,) = home.journal.iter("c")
    assert home.journal.request(row.id)["messages"] == [["user", "é\u2028"]]
    assert home.journal.reply(row.id)["text"] == "answer 1 \u2028\ud800"
    assert home.journal.mean_seconds(PRICED) == 0.25
    assert home.journal.mean_seconds("openai:gpt-4o") is None
    assert home.journal.mean_seconds("openai:gpt_4o%") is None


CALLER = """
import asyncio, os, sys
from pathlib import Path
from evolve.books import Books, Caps, Owner, PriceBook
from evolve.core.messages import Message, ModelReply, ModelRequest, Usage
from evolve.store import open_home

class Slow:
    identity, capabilities = "openai:gpt-4o-mini", frozenset()
    async def reply(self, request):
        os.write(1, b"sent\\n")
        await asyncio.sleep(0.02)
        return ModelReply(request.messages[0].content, Usage(20, 5))
    async def close(self): ...

async def main():
    books = Books(open_home(Path(sys.argv[1])), "c", Caps(calls=400), PriceBook())
    inner, slots = Slow(), asyncio.Semaphore(8)
    async def ask(n):
        async with slots:
            await books.model(inner, Owner("c", "harness", "t", str(n), 0, "agent")).reply(
                ModelRequest((Message("user", f"question {n}"),), step="node"))
            os.write(1, f"paid {n}\\n".encode())
    await asyncio.gather(*(ask(n) for n in range(120)))

asyncio.run(main())
"""


def test_after_kill_9_at_most_the_calls_in_flight_are_paid_again(home: Home) -> None:
    command = [sys.executable, "-c", CALLER, str(home.path)]
    sent = 0
    for kills, lines_to_read in ((1, 40), (2, 90), (2, None)):
        with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            lines = list(itertools.islice(child.stdout, lines_to_read))
            if lines_to_read is not None:
                os.kill(child.pid, signal.SIGKILL)
            lines += child.stdout.readlines()
        sent += lines.count("sent\n")
        again = open_home(home.path)
        rows = list(again.journal.iter("c"))
        in_flight = sum(row.state == "in_flight" for row in rows)
        # Whatever was sent had its row first, and counts: at its bill, or at its bound when nobody knows.
        assert sent <= len(rows) == open_books(again).spend().calls
        assert in_flight <= kills * 8
        check_sums(again, open_books(again))
        again.close()
    assert len(rows) - in_flight == 120
    assert 120 <= sent <= 120 + 2 * 8
