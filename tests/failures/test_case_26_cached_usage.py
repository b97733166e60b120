"""Case 26: usage with cached tokens and cache writes, in every wire form: exact to each provider's own formula."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.books import Books, Caps, Owner, PriceBook
from evolve.books.billing import NOT_REPORTED
from evolve.core.messages import Capability, Message, ModelReply, ModelRequest, Usage
from evolve.models.usage import usage_of
from evolve.store import Home

MILLION = Decimal(1_000_000)


def anthropic_formula(raw: dict[str, Any]) -> Decimal:
    """Claude Sonnet 4.5: $3 in, $15 out; writes 1.25 and 2 times, reads 0.1 times; double beyond 200k prompt tokens."""
    kept = raw["cache_creation"]["ephemeral_1h_input_tokens"]
    short = raw["cache_creation_input_tokens"] - kept
    read = raw["cache_read_input_tokens"]
    long_prompt = raw["input_tokens"] + read + raw["cache_creation_input_tokens"] > 200_000
    base, out = (Decimal(6), Decimal("22.5")) if long_prompt else (Decimal(3), Decimal(15))
    weighted = raw["input_tokens"] + Decimal("1.25") * short + 2 * kept + Decimal("0.1") * read
    return (weighted * base + raw["output_tokens"] * out) / MILLION


def openai_formula(prompt: int, cached: int, completion: int) -> Decimal:
    """GPT-4o mini: $0.15 in, $0.075 for cached, $0.60 out."""
    fresh = prompt - cached
    return (fresh * Decimal("0.15") + cached * Decimal("0.075") + completion * Decimal("0.6")) / MILLION


COUNTS = st.integers(0, 150_000)


@given(fresh=COUNTS, read=COUNTS, written=COUNTS, share=st.floats(0, 1), out=COUNTS)
def test_anthropic_calls_cost_what_its_formula_says(
    fresh: int, read: int, written: int, share: float, out: int
) -> None:
    kept = int(written * share)
    raw = {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "cache_creation": {"ephemeral_5m_input_tokens": written - kept, "ephemeral_1h_input_tokens": kept},
        "output_tokens": out,
    }
    usage = usage_of("anthropic", raw)
    assert usage.prompt_tokens == fresh + read + written
    assert PriceBook().price("anthropic:claude-sonnet-4-5", usage) == anthropic_formula(raw)


@pytest.mark.parametrize("form", ["chat", "responses"])
@given(prompt=COUNTS, share=st.floats(0, 1), out=COUNTS)
def test_openai_calls_bill_cached_tokens_once(form: str, prompt: int, share: float, out: int) -> None:
    cached = int(prompt * share)
    details = {"cached_tokens": cached}
    if form == "chat":
        raw: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": out, "prompt_tokens_details": details}
    else:
        raw = {"input_tokens": prompt, "output_tokens": out, "input_tokens_details": details}
    usage = usage_of("openai", raw)
    assert usage.prompt_tokens == prompt
    assert PriceBook().price("openai:gpt-4o-mini", usage) == openai_formula(prompt, cached, out)


ODD = (
    st.none() | st.booleans() | st.integers(-5, 10**30) | st.floats() | st.text(max_size=5) | st.just({}) | st.just([])
)
NAMES = [
    "prompt_tokens", "completion_tokens", "prompt_tokens_details", "input_tokens", "output_tokens", "cache_creation",
    "input_tokens_details", "cache_read_input_tokens", "cache_creation_input_tokens",
]  # fmt: skip


UNSOUND = [
    Usage(),
    Usage(5, 1, cached_tokens=9),
    Usage(5, 1, 0, 2, 3),
    Usage(-1, 5),
    *(Usage(odd, 5) for odd in (None, "7", [], True, 1.5, float("nan"), 10**30)),  # type: ignore[arg-type]
]


class Odd:
    """A provider whose usage record is whatever it is."""

    identity = "openai:gpt-4o-mini"
    capabilities: frozenset[Capability] = frozenset()

    def __init__(self, usage: Usage) -> None:
        self._usage = usage

    async def reply(self, request: ModelRequest) -> ModelReply:
        return ModelReply("x", self._usage)

    async def close(self) -> None:
        """Nothing to end."""


@given(st.sampled_from(["openai", "anthropic"]), st.dictionaries(st.sampled_from(NAMES), ODD) | st.none())
def test_any_usage_record_is_sound_counts_or_not_reported(provider: str, raw: dict[str, Any] | None) -> None:
    usage = usage_of(provider, raw)
    assert min(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, usage.cache_write_tokens) >= 0


@pytest.mark.parametrize("usage", UNSOUND)
async def test_impossible_or_missing_usage_is_charged_at_the_bound_and_says_so(home: Home, usage: Usage) -> None:
    books = Books(home, "c", Caps(calls=9), PriceBook())
    request = ModelRequest((Message("user", "q" * 100),), max_tokens=50)
    await books.model(Odd(usage), Owner("c", "l", "t", "case", 0, "agent")).reply(request)
    (row,) = home.journal.iter("c")
    assert row.note == NOT_REPORTED
    assert (row.usage.prompt_tokens, row.usage.completion_tokens) == (request.prompt_bytes, 50)
    assert row.usd == PriceBook().bound("openai:gpt-4o-mini", request)
