"""Case 26, OpenAI's form: usage with cached and written prompt tokens costs what the provider's formula says, once."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.books import Books, Caps, Owner, PriceBook, PriceOverride
from evolve.books.billing import NOT_REPORTED
from evolve.core.messages import Message, ModelRequest, Usage
from evolve.models.openai import OpenAIModel
from evolve.models.openai_endpoint import OpenAIEndpoint
from evolve.models.usage import usage_of
from evolve.report.reconcile import reconcile
from evolve.store import Home
from tests.models.openai_server import (
    KEY,
    Events,
    Reply,
    chunks,
    completion,
    message_item,
    response,
    response_events,
    serving,
)

RATES = {"gpt-4o-mini": ("0.15", "0.075", "0.60"), "gpt-5-mini": ("0.25", "0.025", "2.00")}
"""Dollars per million: prompt, cached prompt, completion. Writing to the cache costs what reading a prompt does."""


def formula(model: str, prompt: int, cached: int, completion: int) -> Decimal:
    """The provider's: cached tokens at their rate instead of the prompt's; reasoning is part of the completion."""
    fresh_rate, cached_rate, completion_rate = map(Decimal, RATES[model])
    return ((prompt - cached) * fresh_rate + cached * cached_rate + completion * completion_rate) / Decimal(1_000_000)


def raw_usage(api: str, prompt: int, cached: int, written: int, completed: int) -> dict[str, Any]:
    names = ("prompt_tokens", "completion_tokens") if api == "chat" else ("input_tokens", "output_tokens")
    return {
        names[0]: prompt,
        names[1]: completed,
        "total_tokens": prompt + completed,
        f"{names[0]}_details": {"cached_tokens": cached, "cache_write_tokens": written},
        f"{names[1]}_details": {"reasoning_tokens": completed // 2},
    }


COUNTS = st.integers(0, 10**7)


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("model", RATES)
@given(cached=COUNTS, written=COUNTS, fresh=COUNTS, completed=COUNTS)
def test_the_price_is_exactly_the_providers_formula(
    model: str, api: str, cached: int, written: int, fresh: int, completed: int
) -> None:
    prompt = cached + written + fresh
    usage = usage_of("openai", raw_usage(api, prompt, cached, written, completed))
    price = PriceBook().price(f"openai:{model}", usage)
    assert price == formula(model, prompt, cached, completed)
    if cached:
        twice = formula(model, prompt, cached, completed) + cached * Decimal(RATES[model][0]) / 1_000_000
        assert price is not None and price < twice


def whole_or_streamed(api: str, usage: dict[str, Any] | None, *, stream: bool) -> Reply | Events:
    if api == "chat":
        return (
            Events(chunks({"content": "hi"}, usage=usage)) if stream else Reply(completion(content="hi", usage=usage))
        )
    body = response(message_item(("output_text", "hi")), usage=usage)
    return Events(response_events(body, "hi")) if stream else Reply(body)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("name", RATES)
async def test_the_books_charge_the_formula_and_reconcile_with_the_providers_own_account(
    home: Home, name: str, api: Any, stream: bool
) -> None:
    prompt_rate, cached_rate, completion_rate = map(Decimal, RATES[name])
    stated = PriceOverride(
        input_per_million=prompt_rate, cached_per_million=cached_rate, output_per_million=completion_rate
    )
    books = Books(home, "c", Caps(calls=9), PriceBook({f"openai:{name}": stated}))
    usage = raw_usage(api, 2006, 1920, 30, 300)
    with serving() as server:
        server.answers(whole_or_streamed(api, usage, stream=stream))
        model = OpenAIModel(OpenAIEndpoint(name, server.address, key=KEY, api=api))
        request = ModelRequest((Message("user", "q" * 3000),), max_tokens=400, on_text=_hear if stream else None)
        reply = await books.model(model, Owner("c", "l", "t", "case", 0, "agent")).reply(request)
        await model.close()
        assert server.complaints == []
    (row,) = home.journal.iter("c")
    assert row.usage == reply.usage == Usage(2006, 300, cached_tokens=1920, cache_write_tokens=30)
    assert row.usd == books.spend().usd == formula(name, 2006, 1920, 300)
    assert reply.raw_usage == usage
    assert row.note == ""
    assert [found for found in reconcile(home) if "the provider said" in found.what] == []


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_usage_that_is_not_reported_is_charged_at_the_bound_and_said_so(
    home: Home, api: Any, stream: bool
) -> None:
    stated = PriceOverride(input_per_million=Decimal(1), output_per_million=Decimal(2))
    books = Books(home, "c", Caps(calls=9), PriceBook({"openai:m": stated}))
    request = ModelRequest((Message("user", "q" * 92),), max_tokens=50, on_text=_hear if stream else None)
    with serving() as server:
        server.answers(whole_or_streamed(api, None, stream=stream))
        model = OpenAIModel(OpenAIEndpoint("m", server.address, key=KEY, api=api))
        reply = await books.model(model, Owner("c", "l", "t", "case", 0, "agent")).reply(request)
        await model.close()
    (row,) = home.journal.iter("c")
    assert (reply.usage, row.usage, row.note) == (Usage(), Usage(100, 50), NOT_REPORTED)
    assert row.usd == Decimal("0.0002")


def _hear(piece: str) -> None:
    """Somebody listens."""
