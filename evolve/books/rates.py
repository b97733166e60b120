"""Rates: dollars per million tokens, and the exact arithmetic of one call's bill and of its upper bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any

from evolve.core.messages import Usage

KINDS = ("prompt", "completion", "cached", "cache_write", "cache_write_1h")
"""What is priced by the million tokens."""

_MILLION = -6
_EXACT_DIGITS = 60


@dataclass(frozen=True, slots=True)
class Rate:
    """A price per million tokens; above a threshold of prompt tokens the tier's price holds for all tokens."""

    base: Decimal
    tiers: tuple[tuple[int, Decimal], ...] = ()
    """(threshold, price) with rising thresholds"""

    def at(self, prompt_tokens: int) -> Decimal:
        """The price in a call with so many prompt tokens."""
        price = self.base
        for threshold, tier_price in self.tiers:
            if prompt_tokens > threshold:
                price = tier_price
        return price

    @property
    def words(self) -> str:
        """`3`, or `3 (6 above 200000 prompt tokens)`: dollars per million."""
        higher = "".join(f" ({price} above {start} prompt tokens)" for start, price in self.tiers)
        return f"{self.base}{higher}"

    @property
    def document(self) -> list[list[str]]:
        """[threshold, price] of each tier, the base first, as text."""
        return [["0", str(self.base)], *([str(start), str(price)] for start, price in self.tiers)]

    @classmethod
    def of(cls, document: Sequence[Sequence[str]]) -> Rate:
        """What `document` describes."""
        (_, base), *tiers = document
        return cls(Decimal(base), tuple((int(start), Decimal(price)) for start, price in tiers))

    @property
    def dearest(self) -> Decimal:
        """The highest price of any tier."""
        return max(self.base, *(price for _, price in self.tiers)) if self.tiers else self.base


@dataclass(frozen=True, slots=True)
class Rates:
    """What a model charges. Cached and written tokens are parts of the prompt, billed once, at their own rate."""

    prompt: Rate
    completion: Rate
    cached: Rate
    cache_write: Rate
    cache_write_1h: Rate
    per_call: Decimal = field(default=Decimal(0))

    def bill(self, usage: Usage) -> Decimal:
        """The exact price of one call. Raises ValueError for usage whose parts exceed the whole."""
        fresh = usage.prompt_tokens - usage.cached_tokens - usage.cache_write_tokens
        short = usage.cache_write_tokens - usage.cache_write_1h_tokens
        if min(fresh, short, usage.cached_tokens, usage.cache_write_1h_tokens, usage.completion_tokens) < 0:
            raise ValueError(f"the parts of {usage} exceed the whole")
        at = usage.prompt_tokens
        parts = (
            (fresh, self.prompt),
            (usage.cached_tokens, self.cached),
            (short, self.cache_write),
            (usage.cache_write_1h_tokens, self.cache_write_1h),
            (usage.completion_tokens, self.completion),
        )
        return self._total([(count, rate.at(at)) for count, rate in parts if count])

    def document(self) -> dict[str, Any]:
        """As text, for the campaign record: dollars per million tokens by tier, and dollars per call."""
        return {**{kind: getattr(self, kind).document for kind in KINDS}, "per_call": str(self.per_call)}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Rates:
        """What `document` describes."""
        rates = {kind: Rate.of(document[kind]) for kind in KINDS}
        return cls(**rates, per_call=Decimal(document["per_call"]))

    def bound(self, prompt_tokens: int, completion_tokens: int) -> Decimal:
        """At least the bill of any call with at most so many tokens, however they are cached or tiered."""
        kinds = (self.prompt, self.cached, self.cache_write, self.cache_write_1h)
        prompt = max(rate.dearest for rate in kinds)
        return self._total([(prompt_tokens, prompt), (completion_tokens, self.completion.dearest)])

    def _total(self, parts: list[tuple[int, Decimal]]) -> Decimal:
        exact = Context(prec=_EXACT_DIGITS)
        millionths = Decimal(0)
        for count, price in parts:
            millionths = exact.add(millionths, exact.multiply(Decimal(count), price))
        return exact.add(exact.scaleb(millionths, _MILLION), self.per_call)
