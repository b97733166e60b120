"""Case 28, one call: what of a refusing endpoint is waited for, what halts, what is asked again and what is charged."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from email.utils import formatdate
from typing import Any

import pytest
import pytest_asyncio

from evolve.books import Books, Caps, Owner, PriceBook, PriceOverride
from evolve.core.errors import WorldError
from evolve.core.messages import Message, ModelReply, ModelRequest
from evolve.core.traces import Spend
from evolve.models import PaidModel, RetryPolicy
from evolve.models.openai import OpenAIModel
from evolve.models.openai_endpoint import OpenAIEndpoint
from evolve.store import CallRow, Home, open_home
from tests.models.openai_server import (
    KEY,
    Answer,
    Dropped,
    Events,
    OpenAIServer,
    Reply,
    chunks,
    completion,
    message_item,
    response,
    serving,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOW = 1_700_000_000.0
REQUEST = ModelRequest((Message("user", "q" * 92),), max_tokens=50)
PRICE = PriceOverride(input_per_million=Decimal(1), output_per_million=Decimal(2))
BOUND = Decimal("0.0002")
BILL = Decimal("0.00014")
POLICY = RetryPolicy(attempts=3, first_wait=0.5, jitter=0.0)


@dataclass
class Bench:
    """A paid model, its provider and its books; seconds that it waited are in `waits`, and nobody waits them."""

    home: Home
    server: OpenAIServer
    api: Any
    provider: OpenAIModel
    waits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.books = Books(self.home, "c", Caps(calls=20), PriceBook({"openai:m": PRICE}))
        booked = self.books.model(self.provider, Owner("c", "l", "t", "case", 0, "agent"))
        self.model = PaidModel(booked, POLICY, sleep=self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def ask(self, *answers: Answer, request: ModelRequest = REQUEST) -> ModelReply | WorldError:
        self.server.answers(*answers, self.fine)
        try:
            return await self.model.reply(request)
        except WorldError as fault:
            return fault

    @property
    def fine(self) -> Reply:
        usage = {"total_tokens": 120}
        if self.api == "chat":
            return Reply(completion(content="hi", usage={**usage, "prompt_tokens": 100, "completion_tokens": 20}))
        nothing = {"cached_tokens": 0, "cache_write_tokens": 0}
        details = {"input_tokens_details": nothing, "output_tokens_details": {"reasoning_tokens": 0}}
        usage = {**usage, "input_tokens": 100, "output_tokens": 20, **details}
        return Reply(response(message_item(("output_text", "hi")), usage=usage))

    @property
    def rows(self) -> list[CallRow]:
        """The journal as a later process finds it: the ends of failed calls are not waited for."""
        self.home.close()
        with closing(open_home(self.home.path)) as again:
            return list(again.journal.iter("c"))

    @property
    def states(self) -> list[str]:
        return sorted(row.state for row in self.rows)

    def check_sums(self) -> None:
        """What the budget holds is what the journal says, and nothing stays reserved."""
        total = sum((row.spend for row in self.rows), Spend())
        assert total == self.books.spend() == self.model.spend
        assert self.books.budget.reserved.usd == 0


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    with serving() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["chat", "responses"])
async def provider(request: pytest.FixtureRequest, server: OpenAIServer) -> AsyncIterator[OpenAIModel]:
    endpoint = OpenAIEndpoint("m", server.address, key=KEY, key_name="SOME_KEY", api=request.param)
    opened = OpenAIModel(endpoint, clock=lambda: NOW)
    yield opened
    await opened.close()


@pytest.fixture
def bench(server: OpenAIServer, provider: OpenAIModel, home: Home) -> Iterator[Bench]:
    server.forget()
    ready = Bench(home, server, "responses" if "#responses" in provider.identity else "chat", provider)
    yield ready
    ready.check_sums()
    assert server.complaints == []
    assert all(KEY not in repr(row) for row in ready.rows)


def refusal(status: int, wait: str | None = None, code: str | None = None) -> Reply:
    error = {"message": f"refused, {KEY}", "type": "refused", "code": code, "param": None}
    return Reply({"error": error}, status, {} if wait is None else {"retry-after": wait})


@pytest.mark.parametrize(
    ("ill", "waited"),
    [
        (refusal(429, "2"), 2.0),
        (refusal(429, formatdate(NOW + 30, usegmt=True)), 30.0),
        (refusal(429, formatdate(NOW - 30, usegmt=True)), 0.5),
        (refusal(429, "-5"), 0.5),
        (refusal(429), 0.5),
        (refusal(529), 0.5),
        (refusal(503, "1.5"), 1.5),
    ],
    ids=["2", "date", "past", "negative", "none", "529", "503"],
)
async def test_a_short_wait_is_waited_once_and_only_the_answer_is_charged(
    bench: Bench, ill: Reply, waited: float
) -> None:
    reply = await bench.ask(ill)
    assert isinstance(reply, ModelReply)
    assert bench.waits == [waited]
    assert bench.states == ["failed", "finished"]
    assert (bench.books.spend().calls, bench.books.spend().usd) == (1, BILL)


@pytest.mark.parametrize(
    ("ill", "says"),
    [
        (refusal(429, "86400"), "asks to wait 86,400 s; resume after"),
        (refusal(429, formatdate(NOW + 86_400, usegmt=True)), "asks to wait 86,400 s; resume after"),
        (refusal(402), "add credit"),
        (refusal(429, "1", "insufficient_quota"), "add credit"),
        (refusal(401), "$SOME_KEY"),
        (refusal(403), "$SOME_KEY"),
        (refusal(404), "base_url"),
    ],
    ids=["a_day", "a_date", "402", "no_quota", "401", "403", "404"],
)
async def test_what_every_call_would_meet_halts_without_a_wait_and_is_not_charged(
    bench: Bench, ill: Reply, says: str
) -> None:
    fault = await bench.ask(ill)
    assert isinstance(fault, WorldError) and fault.halts
    assert says in str(fault)
    assert (bench.waits, len(bench.server.asked), bench.states) == ([], 1, ["failed"])
    assert bench.books.spend() == Spend()


async def test_a_bad_request_neither_halts_nor_is_it_asked_again_or_charged(bench: Bench) -> None:
    fault = await bench.ask(refusal(400, "1"))
    assert isinstance(fault, WorldError)
    assert (fault.halts, fault.passing) == (False, False)
    assert (bench.waits, len(bench.server.asked), bench.states) == ([], 1, ["failed"])
    assert bench.books.spend() == Spend()


async def test_an_endpoint_that_goes_on_refusing_is_asked_as_often_as_allowed(bench: Bench) -> None:
    fault = await bench.ask(*[refusal(429)] * POLICY.attempts)
    assert isinstance(fault, WorldError)
    assert (fault.passing, fault.halts) == (True, False)
    assert bench.waits == [0.5, 1.0]
    assert bench.states == ["failed"] * POLICY.attempts
    assert bench.books.spend() == Spend()


async def test_a_connection_lost_after_sending_is_charged_at_its_bound_and_asked_again(bench: Bench) -> None:
    reply = await bench.ask(Dropped())
    assert isinstance(reply, ModelReply)
    assert bench.states == ["abandoned", "finished"]
    assert (bench.books.spend().calls, bench.books.spend().usd) == (2, BOUND + BILL)


async def test_an_answer_in_another_format_is_charged_at_its_bound_and_not_asked_for_again(bench: Bench) -> None:
    fault = await bench.ask(Reply("<html>hello</html>"))
    assert isinstance(fault, WorldError) and not fault.halts
    assert (bench.waits, bench.states) == ([], ["abandoned"])
    assert (bench.books.spend().calls, bench.books.spend().usd) == (1, BOUND)


async def test_a_stream_that_breaks_after_its_first_words_is_charged_at_its_bound_and_not_begun_again(
    bench: Bench,
) -> None:
    heard: list[str] = []
    listening = ModelRequest(REQUEST.messages, max_tokens=50, on_text=heard.append)
    head = {"item_id": "i", "output_index": 0, "content_index": 0, "logprobs": [], "sequence_number": 1}
    said = {"type": "response.output_text.delta", "delta": "Pa", **head}
    events = chunks({"content": "Pa"}, finish=None, usage=None) if bench.api == "chat" else [said]
    fault = await bench.ask(Events(events, "cut"), request=listening)
    assert isinstance(fault, WorldError)
    assert heard == ["Pa"]
    assert (bench.waits, bench.states) == ([], ["abandoned"])
    assert bench.books.spend().usd == BOUND


async def test_a_stream_that_breaks_before_its_first_words_is_asked_for_again(bench: Bench) -> None:
    heard: list[str] = []
    listening = ModelRequest(REQUEST.messages, max_tokens=50, on_text=heard.append)
    reply = await bench.ask(Events([], "cut"), request=listening)
    assert isinstance(reply, ModelReply)
    assert (heard, reply.text) == (["hi"], "hi")
    assert bench.states == ["abandoned", "finished"]
    assert bench.books.spend().usd == BOUND + BILL
