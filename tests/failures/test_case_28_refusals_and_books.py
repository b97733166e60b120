"""Case 28: how refusals of both hosted providers are waited for, given up or charged, with the real SDKs and books."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from evolve.books import Books, Caps, Owner, PriceBook
from evolve.core.errors import WorldError
from evolve.core.messages import Message, Model, ModelRequest
from evolve.models import RetryingModel, RetryPolicy
from evolve.models.anthropic import AnthropicModel
from evolve.models.endpoint import Endpoint
from evolve.models.openai import OpenAIModel
from evolve.models.openai_endpoint import OpenAIEndpoint
from evolve.store import Home
from tests.models.answering import Answering, Reaction, serving

REQUEST = ModelRequest((Message("user", "q" * 40),), max_tokens=20)
NOW = 1_700_000_000.0
GOOD: dict[str, Any] = {
    "openai": {
        "id": "1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
    },
    "anthropic": {
        "id": "1", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "ok"}],
        "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 12, "output_tokens": 3},
    },
}  # fmt: skip


@pytest.fixture
def server() -> Iterator[Answering]:
    with serving() as running:
        yield running


def provider_at(name: str, server: Answering) -> Model:
    if name == "openai":
        return OpenAIModel(OpenAIEndpoint("m", f"{server.address}/v1", key="k" * 20), clock=lambda: NOW)
    return AnthropicModel(Endpoint("m", server.address, key="k" * 20), clock=lambda: NOW)


def refused(status: int, headers: dict[str, str] | None = None) -> Reaction:
    kind = {402: "billing_error", 400: "invalid_request_error", 529: "overloaded_error"}.get(status, "rate_limit_error")
    return Reaction({"type": "error", "error": {"type": kind, "message": "no"}}, status, headers or {})


async def ask(name: str, server: Answering, home: Home) -> tuple[str | WorldError, list[float]]:
    """The reply's text or the fault, and the waits in between."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    provider = provider_at(name, server)
    books = Books(home, "c", Caps(calls=50), PriceBook())
    booked = books.model(provider, Owner("c", "l", "t", "case", 0, "agent"))
    model = RetryingModel(booked, RetryPolicy(), sleep=sleep)
    try:
        return (await model.reply(REQUEST)).text, waits
    except WorldError as fault:
        return fault, waits
    finally:
        await provider.close()
        while any(row.state == "in_flight" for row in home.journal.iter("c")):  # failures are written behind the call
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"retry-after": "2"}, 2.0, 2.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, 30.0, 30.0),
        ({}, 0.5, 1.0),
    ],
)
async def test_a_short_wait_is_waited_and_the_refusal_costs_nothing(
    name: str, headers: dict[str, str], least: float, most: float, server: Answering, home: Home
) -> None:
    server.reactions = [refused(429, headers), refused(529), Reaction(GOOD[name])]
    text, waits = await ask(name, server, home)
    assert text == "ok"
    assert least <= waits[0] <= most and len(waits) == 2
    rows = list(home.journal.iter("c"))
    assert [row.state for row in rows] == ["failed", "failed", "finished"]
    assert [row.spend.calls for row in rows] == [0, 0, 1]
    assert len({row.key for row in rows}) == 1, "attempts at one call share its key"


@pytest.mark.parametrize("name", GOOD)
async def test_a_long_wait_halts_and_says_until_when(name: str, server: Answering, home: Home) -> None:
    server.reactions = [refused(429, {"retry-after": "86400"}), Reaction(GOOD[name])]
    fault, waits = await ask(name, server, home)
    assert isinstance(fault, WorldError) and fault.halts and "resume after" in str(fault)
    assert (waits, len(server.asked)) == ([], 1)
    assert sum(row.spend.calls for row in home.journal.iter("c")) == 0


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize(("status", "halts"), [(400, False), (402, True), (401, True)])
async def test_a_fatal_refusal_is_neither_retried_nor_charged(
    name: str, status: int, halts: bool, server: Answering, home: Home
) -> None:
    server.reactions = [refused(status), Reaction(GOOD[name])]
    fault, waits = await ask(name, server, home)
    assert isinstance(fault, WorldError) and not fault.passing and fault.halts is halts
    assert (waits, len(server.asked)) == ([], 1)
    (row,) = home.journal.iter("c")
    assert (row.state, row.spend.calls) == ("failed", 0)


@pytest.mark.parametrize("name", GOOD)
async def test_an_answer_that_cannot_be_read_is_charged_at_its_bound(name: str, server: Answering, home: Home) -> None:
    server.reactions = [Reaction("<html>a proxy's page</html>")]
    fault, waits = await ask(name, server, home)
    assert isinstance(fault, WorldError) and not fault.passing
    (row,) = home.journal.iter("c")
    assert (row.state, waits) == ("abandoned", [])
    assert row.usage.total_tokens == REQUEST.prompt_bytes + REQUEST.max_tokens
