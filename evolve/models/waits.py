"""How long a provider asks to be left alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_RESETS: Mapping[str, str] = {
    "anthropic-ratelimit-requests-reset": "anthropic-ratelimit-requests-remaining",
    "anthropic-ratelimit-tokens-reset": "anthropic-ratelimit-tokens-remaining",
    "anthropic-ratelimit-input-tokens-reset": "anthropic-ratelimit-input-tokens-remaining",
    "anthropic-ratelimit-output-tokens-reset": "anthropic-ratelimit-output-tokens-remaining",
    "x-ratelimit-reset-requests": "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-tokens": "x-ratelimit-remaining-tokens",
}
"""When a limit is full again → how much of it is left."""

_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_UNITS = (3600.0, 60.0, 1.0, 0.001)


def read_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds from `retry-after-ms` or `Retry-After` (seconds or an HTTP date; `now` is Unix time).

    Where both are absent, from the headers that say when an exhausted limit is full again. None when nothing is said or
    it is unreadable; never negative. Header names are lower case or looked up without case.
    """
    milliseconds = _read_number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    if text is None:
        return _read_resets(headers, now)
    seconds = _read_number(text)
    return seconds if seconds is not None else _read_date(text, now)


def _read_resets(headers: Mapping[str, str], now: float) -> float | None:
    """The longest wait among limits of which nothing is left."""
    exhausted = [name for name, left in _RESETS.items() if name in headers and headers.get(left, "0").strip() == "0"]
    waits = [wait for name in exhausted if (wait := _read_reset(headers[name], now)) is not None]
    return max(waits, default=None)


def _read_reset(text: str, now: float) -> float | None:
    """`6m0s`, `20ms`, or a moment in RFC 3339."""
    parts = _DURATION.fullmatch(text.strip())
    if parts is not None and any(parts.groups()):
        return sum(float(part) * unit for part, unit in zip(parts.groups(), _UNITS, strict=True) if part)
    try:
        moment = datetime.fromisoformat(text.strip())
        return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now)
    except (ValueError, OverflowError, OSError):
        return None


def _read_date(text: str, now: float) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
        # A date without a zone is meant as UTC, wherever this machine stands.
        return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError, OSError):
        return None


def _read_number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else -1.0
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
