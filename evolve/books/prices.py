"""The price book: rates from the genai-prices package, overridden by the user's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from importlib.metadata import version
from typing import Any

from genai_prices import data_snapshot
from genai_prices.types import ModelInfo, ModelPrice, TieredPrices
from pydantic import BaseModel, ConfigDict, Field

from evolve.books.rates import Rate, Rates
from evolve.core.hashing import JSONValue, canonical_json
from evolve.core.messages import ModelRequest, Usage

FREE_PROVIDERS = frozenset({"local", "scripted"})
"""Providers that run on this machine: priced 0 by name."""

_ZERO = Decimal(0)
_FREE = Rates(Rate(_ZERO), Rate(_ZERO), Rate(_ZERO), Rate(_ZERO), Rate(_ZERO))

_UNKNOWABLE = frozenset({"output_reasoning_mtok", "output_citation_mtok", "input_mchars", "input_text_messages_kcount"})
"""Prices of things that a Usage does not count: a model that has one has no known price here."""

_LOOK_AHEAD = [timedelta(minutes=30 * step) for step in range(49)]


class PriceOverride(BaseModel):
    """A price that the user states, in dollars per million tokens; cached rates default to the input rate."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input_per_million: Decimal = Field(ge=0, allow_inf_nan=False)
    output_per_million: Decimal = Field(ge=0, allow_inf_nan=False)
    cached_per_million: Decimal | None = Field(default=None, ge=0, allow_inf_nan=False)
    cache_write_per_million: Decimal | None = Field(default=None, ge=0, allow_inf_nan=False)
    per_call: Decimal = Field(default=Decimal(0), ge=0, allow_inf_nan=False)


def _wall_clock() -> datetime:
    return datetime.now(UTC)


class PriceBook:
    """Prices by model identity, `provider:model` with or without `@endpoint`. An unknown price is None, never 0.

    An override is keyed by `provider:model` or by `model` alone. An endpoint that is a URL decides the provider, so a
    private server is not billed at a public provider's rates.
    """

    def __init__(
        self, overrides: Mapping[str, PriceOverride] | None = None, *, clock: Callable[[], datetime] = _wall_clock
    ) -> None:
        self._overrides = {name: _override_rates(o) for name, o in (overrides or {}).items()}
        self._clock = clock
        self._models: dict[str, Rates | ModelInfo | None] = {}
        self._rates: dict[int, Rates | None] = {}
        self._bounding: dict[tuple[str, datetime], tuple[Rates, ...] | None] = {}

    @classmethod
    def pinned(cls, described: Mapping[str, Any]) -> PriceBook:
        """The book that knows one model, at the rates that `describe` gave."""
        book = cls()
        rates = described["rates"]
        book._models[described["model"]] = None if rates is None else Rates.of(rates)
        return book

    def price(self, identity: str, usage: Usage) -> Decimal | None:
        """The exact price of one call now; None when the model has no known price. ValueError for impossible usage."""
        rates = self._rates_at(identity, self._clock())
        return rates.bill(usage) if rates is not None else None

    def bound(self, identity: str, request: ModelRequest) -> Decimal | None:
        """At least what `request` can cost when it is sent within a day, without a tokenizer."""
        rates = self._rates_soon(identity)
        if rates is None:
            return None
        prompt = prompt_bound(request)
        return max(r.bound(prompt, request.max_tokens) for r in rates)

    def knows(self, identity: str) -> bool:
        """Whether the model has a price now."""
        return self._rates_at(identity, self._clock()) is not None

    def is_free(self, identity: str) -> bool:
        """Whether the model runs on this machine and costs nothing by name."""
        return self._find(identity) is _FREE

    def describe(self, identity: str) -> dict[str, JSONValue]:
        """A price for the campaign record: the model, the source with its version or `unknown`, and the rates now."""
        found, rates = self._find(identity), self._rates_at(identity, self._clock())
        if found is _FREE:
            source = "free: runs on this machine"
        elif isinstance(found, Rates):
            source = "override"
        else:
            source = f"genai-prices {version('genai-prices')}" if rates is not None else "unknown"
        document = rates.document() if rates is not None else None
        return {"model": identity, "source": source, "rates": document}

    def words(self, identity: str) -> str:
        """`$3 in and $15 out a million (genai-prices 1.0)`, or that it is unknown."""
        rates = self._rates_at(identity, self._clock())
        source = self.describe(identity)["source"]
        if rates is None:
            return "price unknown"
        return f"${rates.prompt.words} in and ${rates.completion.words} out a million ({source})"

    def _rates_at(self, identity: str, moment: datetime) -> Rates | None:
        found = self._find(identity)
        if isinstance(found, ModelInfo):
            return self._package_rates(found.get_prices(moment))
        return found

    def _rates_soon(self, identity: str) -> tuple[Rates, ...] | None:
        """Every set of rates that may hold within a day: some providers charge by the hour."""
        now = self._clock()
        hour = now.replace(minute=0, second=0, microsecond=0)
        if (identity, hour) not in self._bounding:
            found = [self._rates_at(identity, hour + step) for step in _LOOK_AHEAD]
            known = tuple({id(r): r for r in found if r is not None}.values())
            self._bounding[identity, hour] = known if all(r is not None for r in found) else None
        return self._bounding[identity, hour]

    def _find(self, identity: str) -> Rates | ModelInfo | None:
        if identity not in self._models:
            self._models[identity] = self._look_up(identity)
        return self._models[identity]

    def _look_up(self, identity: str) -> Rates | ModelInfo | None:
        provider, name, endpoint = split_identity(identity)
        for key in (f"{provider}:{name}", name):
            if key in self._overrides:
                return self._overrides[key]
        if provider in FREE_PROVIDERS:
            return _FREE
        where = (None, endpoint) if endpoint else (provider, None)
        try:
            _, model = data_snapshot.get_snapshot().find_provider_model(name, None, *where)
        except LookupError:
            return None
        return model

    def _package_rates(self, prices: ModelPrice) -> Rates | None:
        if id(prices) not in self._rates:
            self._rates[id(prices)] = _read_package_rates(prices)
        return self._rates[id(prices)]


def split_identity(identity: str) -> tuple[str, str, str]:
    """(provider, model, endpoint): `openai:x@https://…` has an endpoint, `local:x@sha256:…` has none."""
    provider, _, rest = identity.partition(":")
    name, at, where = rest.partition("@")
    return provider, name, where if at and "://" in where else ""


def prompt_bound(request: ModelRequest) -> int:
    """At least the prompt tokens of a request: its bytes, and those of the schema that goes into the prompt."""
    schema = request.json_schema
    return request.prompt_bytes + (len(canonical_json(dict(schema))) if schema is not None else 0)


def _override_rates(override: PriceOverride) -> Rates:
    prompt = override.input_per_million
    cached = prompt if override.cached_per_million is None else override.cached_per_million
    write = prompt if override.cache_write_per_million is None else override.cache_write_per_million
    return Rates(
        Rate(prompt), Rate(override.output_per_million), Rate(cached), Rate(write), Rate(write), override.per_call
    )


def _read_package_rates(prices: ModelPrice) -> Rates | None:
    listed: dict[str, Any] = {name: value for name, value in vars(prices).items() if value is not None}
    if _UNKNOWABLE & listed.keys() or not {"input_mtok", "output_mtok"} <= listed.keys():
        return None
    prompt = _rate(listed["input_mtok"])
    write = listed.get("cache_write_mtok", listed["input_mtok"])
    return Rates(
        prompt=prompt,
        completion=_rate(listed["output_mtok"]),
        cached=_rate(listed.get("cache_read_mtok", listed["input_mtok"])),
        cache_write=_rate(write),
        cache_write_1h=_rate(listed.get("cache_write_1h_mtok", write)),
        per_call=_rate(listed.get("requests_kcount", _ZERO)).dearest.scaleb(-3),
    )


def _rate(price: Decimal | TieredPrices) -> Rate:
    if isinstance(price, TieredPrices):
        return Rate(price.base, tuple((tier.start, tier.price) for tier in price.tiers))
    return Rate(price)
