"""What a call is charged: its bound before it is sent, its bill when usage is known, and the bound again when not."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from decimal import Decimal

from evolve.books.prices import PriceBook, prompt_bound
from evolve.core.messages import ModelRequest, Usage

NOT_REPORTED = "usage not reported: charged at its bound"
DEARER = "dearer than its bound"
MOST_TOKENS = 2**53
"""No call has more: a count above is no count."""


@dataclass(frozen=True, slots=True)
class Charge:
    """Tokens and dollars; `usd` is None without a price. `note` says when a figure is a bound and not a bill."""

    usage: Usage
    usd: Decimal | None
    note: str = ""


def bound_charge(prices: PriceBook, identity: str, request: ModelRequest) -> Charge:
    """What a call may take at most: a byte of the prompt counts as a token, and all of `max_tokens` is written."""
    return Charge(Usage(prompt_bound(request), request.max_tokens), prices.bound(identity, request))


def bill(prices: PriceBook, identity: str, usage: Usage, bound: Charge) -> Charge:
    """The bill. Usage that is missing or impossible would make a cap worthless, so the bound is charged."""
    if not _is_possible(usage) or (_is_silent(usage) and not prices.is_free(identity)):
        return Charge(bound.usage, bound.usd, NOT_REPORTED)
    usd = prices.price(identity, usage)
    over = usage.total_tokens > bound.usage.total_tokens or (usd or 0) > (bound.usd or 0)
    return Charge(usage, usd, DEARER if over else "")


def _is_silent(usage: Usage) -> bool:
    return usage.total_tokens == 0


def _is_possible(usage: Usage) -> bool:
    """Whole numbers that a database holds, whose parts do not exceed the whole."""
    if not all(type(count) is int and 0 <= count <= MOST_TOKENS for count in astuple(usage)):
        return False
    fresh = usage.prompt_tokens - usage.cached_tokens - usage.cache_write_tokens
    short = usage.cache_write_tokens - usage.cache_write_1h_tokens
    return min(fresh, short, usage.cached_tokens, usage.cache_write_1h_tokens, usage.completion_tokens) >= 0
