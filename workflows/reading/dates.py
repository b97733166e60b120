"""Dates in the forms people write them, as spans of a text with their ISO value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from evolve.core.hashing import JSONValue


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a text, `text[start:end]` as written, and what it means."""

    start: int
    end: int
    text: str
    value: JSONValue


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"[0-9]{1,2}(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"""
    (?<![0-9])(?P<iy>[0-9]{{4}})(?P<is>[-/.])(?P<im>[0-9]{{1,2}})(?P=is)(?P<id>[0-9]{{1,2}})(?![0-9])
    |(?<![0-9./-])(?P<n1>[0-9]{{1,2}})(?P<ns>[/.-])(?P<n2>[0-9]{{1,2}})(?P=ns)(?P<ny>[0-9]{{4}}|[0-9]{{2}})(?![0-9])
    |(?<![0-9.,])(?P<dd>{_DAY})[\s-]{{1,3}}(?:of\s+)?(?P<dm>{_MONTH})\b\.?(?:(?:,\s*|[\s-]{{1,3}})(?P<dy>[0-9]{{4}})(?![0-9]))?
    |\b(?P<mm>{_MONTH})\.?\s{{1,3}}(?:the\s+)?(?P<md>{_DAY})(?![0-9:])(?:(?:,\s*|\s{{1,3}})(?P<my>[0-9]{{4}})(?![0-9]))?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LEAP_YEAR = 2000
_CENTURY_TURN = 70


def find_dates(text: str, *, day_first: bool = True) -> list[Span]:
    """Every date that exists in the calendar, in order. The value is ISO, or as written where the year is missing.

    `day_first` decides 03/04/2026; where that order gives no date (03/14/2026) the other one is taken.
    Two-digit years mean 1970 to 2069.
    """
    spans = []
    for match in _DATE.finditer(text):
        value = _read(match, day_first)
        if value is not None:
            spans.append(Span(match.start(), match.end(), match[0], value))
    return spans


def _read(match: re.Match[str], day_first: bool) -> str | None:
    part = match.groupdict()
    if part["iy"]:
        return _iso(int(part["iy"]), int(part["im"]), int(part["id"]))
    if part["n1"]:
        one, two, year = int(part["n1"]), int(part["n2"]), _full_year(part["ny"])
        day, month = (one, two) if day_first else (two, one)
        return _iso(year, month, day) or _iso(year, day, month)
    month = _MONTHS.index((part["dm"] or part["mm"])[:3].lower()) + 1
    day = int(re.sub(r"[a-z]", "", part["dd"] or part["md"], flags=re.IGNORECASE))
    written = part["dy"] or part["my"]
    if written:
        return _iso(int(written), month, day)
    return match[0] if _iso(_LEAP_YEAR, month, day) else None


def _full_year(digits: str) -> int:
    year = int(digits)
    if len(digits) > 2:
        return year
    return year + (1900 if year >= _CENTURY_TURN else 2000)


def _iso(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None
