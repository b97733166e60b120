"""How long a provider asks to be left alone."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime


def read_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds from `retry-after-ms` or `Retry-After` (seconds or an HTTP date; `now` is Unix time).

    None when absent or unreadable; never negative. Header names are lower case or looked up without case.
    """
    milliseconds = _read_number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = _read_number(text)
    if seconds is not None or text is None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except ValueError:
        return None


def _read_number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else -1.0
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
