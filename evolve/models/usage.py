"""Token counts as providers report them, in the three wire forms; what cannot be a count is not reported at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evolve.core.messages import Usage


def usage_of(provider: str, raw: Mapping[str, Any] | None) -> Usage:
    """The counts in a provider's usage record; Usage() when it is absent or not a sound record.

    Sources: the `usage` objects of OpenAI's chat completions and responses, and of Anthropic's messages.
    """
    try:
        if not raw:
            return Usage()
        if provider == "anthropic":
            return _anthropic(raw)
        return _responses(raw) if "input_tokens" in raw else _chat(raw)
    except (LookupError, TypeError, ValueError, AttributeError):
        return Usage()


def _chat(raw: Mapping[str, Any]) -> Usage:
    """Cached tokens are part of `prompt_tokens`, reasoning tokens of `completion_tokens`."""
    details = raw.get("prompt_tokens_details") or {}
    return Usage(
        prompt_tokens=_count(raw["prompt_tokens"]),
        completion_tokens=_count(raw["completion_tokens"]),
        cached_tokens=_count(details.get("cached_tokens")),
        cache_write_tokens=_count(details.get("cache_write_tokens")),
    )


def _responses(raw: Mapping[str, Any]) -> Usage:
    """As chat, under other names."""
    details = raw.get("input_tokens_details") or {}
    return Usage(
        prompt_tokens=_count(raw["input_tokens"]),
        completion_tokens=_count(raw["output_tokens"]),
        cached_tokens=_count(details.get("cached_tokens")),
        cache_write_tokens=_count(details.get("cache_write_tokens")),
    )


def _anthropic(raw: Mapping[str, Any]) -> Usage:
    """`input_tokens` counts only what was neither read from the cache nor written to it."""
    cached = _count(raw.get("cache_read_input_tokens"))
    written = _count(raw.get("cache_creation_input_tokens"))
    for_an_hour = _count((raw.get("cache_creation") or {}).get("ephemeral_1h_input_tokens"))
    return Usage(
        prompt_tokens=_count(raw["input_tokens"]) + cached + written,
        completion_tokens=_count(raw["output_tokens"]),
        cached_tokens=cached,
        cache_write_tokens=written,
        cache_write_1h_tokens=for_an_hour,
    )


def _count(value: Any) -> int:
    """A count; none where the field is absent. ValueError for what is no count."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no count of tokens")
    return value
