"""How long a provider asks to be left alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from math import isfinite

_UNITS: Mapping[str, float] = {
    "d": 86_400.0,
    "h": 3_600.0,
    "m": 60.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "µs": 1e-6,
    "ns": 1e-9,
}
_PART = r"([0-9]+(?:\.[0-9]+)?)(ms|us|µs|ns|d|h|m|s)"
_DURATION = re.compile(f"(?:{_PART})+")
_LIMITS = ("requests", "tokens")


def read_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds from `retry-after-ms` or `Retry-After` (seconds or an HTTP date; `now` is Unix time).

    Where neither can be read, the longest `x-ratelimit-reset-requests` or `-tokens` (`6m0s`, `1s`, `20ms`) of a limit
    that is used up: those headers name every limit, also one that has nothing to do with the refusal and resets
    tomorrow. None when nothing can be read; never negative. Header names are lower case or looked up without case.
    """
    milliseconds = _read_number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    for seconds in (_read_number(text), _read_date(text, now)):
        if seconds is not None:
            return seconds
    return max((reset for limit in _LIMITS if (reset := _read_reset(headers, limit)) is not None), default=None)


def _read_number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else -1.0
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _read_date(text: str | None, now: float) -> float | None:
    try:
        moment = parsedate_to_datetime(text or "")
        # A date without a zone is meant as UTC, wherever this machine stands.
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return max(0.0, aware.timestamp() - now)
    except (ValueError, TypeError, LookupError, OverflowError, OSError):
        return None


def _read_reset(headers: Mapping[str, str], limit: str) -> float | None:
    """Seconds until one limit is whole again; None where some of it is left."""
    left = _read_number(headers.get(f"x-ratelimit-remaining-{limit}"))
    return _read_duration(headers.get(f"x-ratelimit-reset-{limit}")) if not left else None


def _read_duration(text: str | None) -> float | None:
    stripped = (text or "").strip()
    if not _DURATION.fullmatch(stripped):
        return _read_number(text)
    seconds = sum(float(number) * _UNITS[unit] for number, unit in re.findall(_PART, stripped))
    return seconds if isfinite(seconds) else None
