"""One arithmetic expression, evaluated exactly and within bounds: + - * / ( ) and numbers, nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

MAX_LENGTH = 200
MAX_DEPTH = 40

_SPELLINGS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "$": "", "€": "", "£": ""})
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
_TOKEN = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+|[-+*/()%])")


def tokenize(expression: str) -> list[str]:
    """Numbers, operators and parentheses; usual spellings (×, ÷, currency signs, thousands commas) are understood.

    Raises ValueError for anything else and for more than 200 characters.
    """
    if len(expression) > MAX_LENGTH:
        raise ValueError(f"the expression is longer than {MAX_LENGTH} characters")
    text = _THOUSANDS.sub("", expression.translate(_SPELLINGS)).strip()
    tokens, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"unexpected {text[at:].strip()[:20]!r} in the expression {expression!r}")
        tokens.append(match[1])
        at = match.end()
    if not tokens:
        raise ValueError("the expression is empty")
    return tokens


def evaluate(expression: str) -> Fraction:
    """The exact value. Raises ValueError for a malformed expression and for a division by zero."""
    parser = _Parser(tokenize(expression))
    value = parser.sum(0)
    if parser.here:
        raise ValueError(f"unexpected {parser.here!r} in the expression {expression!r}")
    return value


def format_expression(tokens: Sequence[str]) -> str:
    """Tokens with one space around operators and none inside parentheses: the form that pinned replies have."""
    return " ".join(tokens).replace("( ", "(").replace(" )", ")")


def plain_number(value: Fraction, digits: int | None) -> int | float:
    """An int where the value is whole, else a float; rounded half away from zero to `digits` decimals if given.

    Raises ValueError when the value is too large for a float.
    """
    if digits is not None:
        shifted = abs(value) * 10**digits + Fraction(1, 2)
        value = Fraction(int(shifted), 10**digits) * (1 if value >= 0 else -1)
    try:
        return int(value) if value.denominator == 1 and abs(value) < 10**15 else float(value)
    except OverflowError:
        raise ValueError("the value is too large") from None


def round_money(value: float) -> float:
    """Two decimals, half away from zero, as people round amounts."""
    return float(Decimal(repr(value)).quantize(Decimal("0.01"), ROUND_HALF_UP)) if abs(value) < 1e20 else value


class _Parser:
    """Recursive descent: sum → product → sign → atom, with a bounded depth."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def here(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self.here
        self._at += 1
        return token

    def sum(self, depth: int) -> Fraction:
        value = self._product(depth)
        while self.here in ("+", "-"):
            value = value + self._product(depth) if self._take() == "+" else value - self._product(depth)
        return value

    def _product(self, depth: int) -> Fraction:
        value = self._signed(depth)
        while self.here in ("*", "/"):
            if self._take() == "*":
                value *= self._signed(depth)
                continue
            divisor = self._signed(depth)
            if divisor == 0:
                raise ValueError("division by zero")
            value /= divisor
        return value

    def _signed(self, depth: int) -> Fraction:
        sign = 1
        while self.here in ("+", "-"):
            sign = -sign if self._take() == "-" else sign
        value = self._atom(depth)
        while self.here == "%":
            self._take()
            value /= 100
        return sign * value

    def _atom(self, depth: int) -> Fraction:
        token = self._take()
        if token == "(":
            if depth >= MAX_DEPTH:
                raise ValueError(f"more than {MAX_DEPTH} nested parentheses")
            value = self.sum(depth + 1)
            if self._take() != ")":
                raise ValueError("a parenthesis is not closed")
            return value
        if not token or token[0] not in "0123456789.":
            raise ValueError(f"a number is missing before {token!r}" if token else "the expression ends too early")
        return Fraction(token)
