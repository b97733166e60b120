"""Prices: exact to the provider's formula, never 0 for unknown, and a bound that no call exceeds."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import genai_prices
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from evolve.books import PriceBook, PriceOverride
from evolve.core.messages import Message, ModelRequest, Usage

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
MODELS = [
    "openai:gpt-4o-mini",
    "openai:gpt-4o",
    "anthropic:claude-sonnet-4-5",
    "google:gemini-2.5-pro",
    "deepseek:deepseek-chat",
]


def book(**overrides: PriceOverride) -> PriceBook:
    return PriceBook(overrides, clock=lambda: NOON)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    prompt = draw(st.integers(0, 400_000))
    cached = draw(st.integers(0, prompt))
    return Usage(prompt, draw(st.integers(0, 50_000)), cached, draw(st.integers(0, prompt - cached)))


@settings(max_examples=150, deadline=None)
@given(model=st.sampled_from(MODELS), usage=usages())
def test_bills_are_the_packages_to_the_last_digit(model: str, usage: Usage) -> None:
    provider, name = model.split(":")
    theirs = genai_prices.calc_price(
        genai_prices.Usage(
            input_tokens=usage.prompt_tokens,
            output_tokens=usage.completion_tokens,
            cache_read_tokens=usage.cached_tokens,
            cache_write_tokens=usage.cache_write_tokens,
        ),
        name,
        provider_id=provider,
        genai_request_timestamp=NOON,
    )
    assert book().price(model, usage) == theirs.total_price


@settings(max_examples=150, deadline=None)
@given(model=st.sampled_from(MODELS), usage=usages(), hour=st.integers(0, 23))
def test_no_call_within_a_day_costs_more_than_its_bound(model: str, usage: Usage, hour: int) -> None:
    now = [NOON]
    prices = PriceBook(clock=lambda: now[0])
    text = "x" * max(0, usage.prompt_tokens - 8)
    bound = prices.bound(model, ModelRequest((Message("user", text),), max_tokens=usage.completion_tokens))
    now[0] = NOON.replace(day=1, month=12, hour=hour) if hour < 12 else NOON.replace(hour=hour)
    price = prices.price(model, usage)
    assert bound is not None and price is not None and price <= bound


def test_cached_tokens_are_billed_once_in_both_wire_formats() -> None:
    # gpt-4o-mini: 0.15 in, 0.075 cached, 0.60 out; claude-sonnet-4-5: 3 in, 0.30 read, 3.75 write, 15 out, per million.
    openai = book().price("openai:gpt-4o-mini", Usage(1000, 100, cached_tokens=600))
    assert openai == Decimal("0.000165")
    anthropic = book().price("anthropic:claude-sonnet-4-5", Usage(1000, 100, cached_tokens=600, cache_write_tokens=300))
    assert anthropic == Decimal("0.003105")


def test_local_and_scripted_models_are_free_by_name() -> None:
    for identity in ("local:smollm2-135m@sha256:1a2b", "scripted:oracle"):
        assert book().price(identity, Usage(10, 10)) == book().bound(identity, ModelRequest(())) == 0
        assert book().is_free(identity) and book().knows(identity)


@pytest.mark.parametrize(
    "identity",
    ["openai:no-such-model", "openai:gpt-4o-mini@http://localhost:8000/v1", "nobody:gpt-4o-mini", "mailbox:me", "x"],
)
def test_an_unknown_price_is_none_and_never_zero(identity: str) -> None:
    assert book().price(identity, Usage(10, 10)) is None
    assert book().bound(identity, ModelRequest(())) is None
    assert book().describe(identity) == {"model": identity, "source": "unknown", "rates": None}
    assert not book().is_free(identity)


def test_a_public_endpoint_is_billed_at_its_providers_rates() -> None:
    usage = Usage(1000, 100)
    official = book().price("openai:gpt-4o-mini@https://api.openai.com/v1", usage)
    assert official == book().price("openai:gpt-4o-mini", usage) != 0


def test_the_users_price_wins_by_full_name_and_by_model() -> None:
    mine = PriceOverride(input_per_million=Decimal("1"), output_per_million=Decimal("2"), per_call=Decimal("0.001"))
    for key in ("openai:gpt-4o-mini", "gpt-4o-mini"):
        prices = book(**{key: mine})
        assert prices.price("openai:gpt-4o-mini@http://localhost:1/v1", Usage(1000, 100)) == Decimal("0.0022")
        assert prices.describe("openai:gpt-4o-mini")["source"] == "override"
    assert book(other=mine).price("openai:gpt-4o-mini", Usage(1000, 100)) == Decimal("0.00021")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-1"])
def test_a_price_is_a_number_that_can_be_billed(value: str) -> None:
    with pytest.raises(ValidationError):
        PriceOverride(input_per_million=Decimal(value), output_per_million=Decimal("1"))


def test_the_schema_of_a_request_is_part_of_its_bound() -> None:
    plain = ModelRequest((Message("user", "é"),), max_tokens=0)
    schema = ModelRequest((Message("user", "é"),), max_tokens=0, json_schema={"type": "object"})
    assert book().bound("openai:gpt-4o-mini", plain) == Decimal("0.15") * 10 / 10**6
    assert book().bound("openai:gpt-4o-mini", schema) == Decimal("0.15") * (10 + len('{"type":"object"}')) / 10**6


def test_impossible_usage_is_not_billed() -> None:
    with pytest.raises(ValueError, match="exceed"):
        book().price("openai:gpt-4o-mini", Usage(10, 1, cached_tokens=11))
