"""Numbers, amounts of money and currencies in the forms people write them, as spans of a text with their value."""

from __future__ import annotations

import re
from typing import Literal

from workflows.reading.arithmetic import round_money
from workflows.reading.dates import Span, find_dates

Decimals = Literal["auto", ".", ","]
"""Which sign starts the decimals; `auto` tells from the digits."""

_SIGNS = {"US$": "USD", "A$": "AUD", "C$": "CAD", "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"}
_CODES = ("USD", "EUR", "GBP", "CHF", "JPY", "INR", "CAD", "AUD", "NZD", "CNY", "SEK", "NOK", "DKK", "PLN", "CZK")
_WORDS = {"dollar": "USD", "euro": "EUR", "pound": "GBP", "yen": "JPY", "rupee": "INR", "franc": "CHF"}

_MARK = rf"(?:US\$|A\$|C\$|[$€£¥₹]|\b(?:{'|'.join(_CODES)})\b)"
_WORD = rf"\b(?:{'|'.join(_WORDS)})s?\b"
_BEFORE = r"(?<![\w.,])(?<![A-Za-z]-)"
_ORDINAL = r"(?!(?:st|nd|rd|th)\b)"


def _digits(separators: str) -> str:
    grouped = rf"[0-9]{{1,3}}(?:[{separators}][0-9]{{3}}){{1,5}}(?:[.,][0-9]{{1,9}})?"
    return rf"(?:(?:{grouped}|[0-9]{{1,15}}(?:[.,][0-9]{{1,15}})?)(?![0-9]))"


_TIGHT = _digits(",.'\u00a0\u202f")
_LOOSE = _digits(",.'\u00a0\u202f ")
_NUMBER = re.compile(rf"{_BEFORE}(?P<sign>(?<![0-9])[-−])?(?P<digits>{_TIGHT}){_ORDINAL}")
_AMOUNT = re.compile(
    rf"(?P<sign>(?<![\w-])[-−])?{_MARK}\s?(?P<after>[-−]?{_LOOSE})"
    rf"|{_BEFORE}(?P<minus>[-−])?(?P<before>{_LOOSE})\s?(?:{_MARK}|{_WORD})",
    re.IGNORECASE,
)
_CURRENCY = re.compile(rf"{_MARK}|{_WORD}", re.IGNORECASE)


def find_numbers(text: str, *, decimal: Decimals = "auto") -> list[Span]:
    """Every number that stands by itself (not in `INV-2041`, `14th`), in order. The value is an int or a float."""
    return [
        Span(match.start(), match.end(), match[0], _signed(match["sign"], _value(match["digits"], decimal, False)))
        for match in _NUMBER.finditer(text)
    ]


def find_plain_numbers(text: str, *, decimal: Decimals = "auto", day_first: bool = True) -> list[Span]:
    """The numbers that are not part of a date."""
    dates = find_dates(text, day_first=day_first)
    return [n for n in find_numbers(text, decimal=decimal) if not any(d.start <= n.start < d.end for d in dates)]


def find_amounts(text: str, *, decimal: Decimals = "auto") -> list[Span]:
    """Every number with a currency before or behind it. The value is a float with at most two decimals."""
    spans = []
    for match in _AMOUNT.finditer(text):
        digits = match["after"] or match["before"]
        inner = digits[0] if digits[0] in "-−" else ""
        sign = match["sign"] or match["minus"] or inner
        value = _signed(sign, _value(digits.lstrip("-−"), decimal, True))
        spans.append(Span(match.start(), match.end(), match[0], round_money(float(value))))
    return spans


def find_currencies(text: str) -> list[Span]:
    """Every currency sign, code or word. The value is its ISO code."""
    return [Span(m.start(), m.end(), m[0], currency_code(m[0])) for m in _CURRENCY.finditer(text)]


def currency_code(mark: str) -> str:
    """The ISO code of a sign, code or word."""
    upper = mark.upper()
    return _SIGNS.get(upper) or _WORDS.get(mark.lower().removesuffix("s")) or upper


def _signed(sign: str | None, value: int | float) -> int | float:
    return -value if sign else value


def _value(digits: str, decimal: Decimals, money: bool) -> int | float:
    text = re.sub(r"['\u00a0\u202f ]", "", digits)
    point = decimal if decimal != "auto" else _guess_point(text, money)
    text = text.replace("," if point == "." else ".", "").replace(",", ".")
    if text.count(".") > 1:
        text = text.replace(".", "")
    return float(text) if "." in text else int(text)


def _guess_point(text: str, money: bool) -> str:
    last = max(text.rfind("."), text.rfind(","))
    if last < 0:
        return "."
    sign, behind = text[last], len(text) - last - 1
    other = "," if sign == "." else "."
    if text.count(sign) > 1:
        return other
    if other in text or behind != 3:
        return sign
    # One separator with three digits behind it: thousands, except 1.234 where no money is meant.
    return "." if sign == "," or not money else ","
