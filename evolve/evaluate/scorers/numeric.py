"""Numeric: the output is the expected number, within a tolerance."""

from __future__ import annotations

import re
import sys
from decimal import Decimal
from typing import Literal

from pydantic import Field

from evolve.core.hashing import JSONValue
from evolve.core.scores import Asked, Score
from evolve.evaluate.scorers.base import Options, scorer_identity, shown

NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)?(?:\.\d+)?(?:[eE][-+]?\d{1,3})?"
WHOLE = re.compile(rf"\s*(?=[-+.\d])({NUMBER})\s*", re.ASCII)
INSIDE = re.compile(rf"(?<![\w.])(?=[-+]?\.?\d)({NUMBER})", re.ASCII)
MOST_CHARACTERS = 100_000


class NumericOptions(Options):
    """Equal within `tolerance` (absolute) or `relative` (times the expected value), whichever is wider.

    `read: whole` takes a JSON number or a text that is nothing but one number (`1,234.5`, `-2e3`): "12 apples" scores
    0. `read: last` takes the last number in a text, as in "… so the answer is 12 apples."
    """

    kind: Literal["numeric"] = "numeric"
    tolerance: float = Field(default=0.0, ge=0.0, allow_inf_nan=False)
    relative: float = Field(default=1e-9, ge=0.0, lt=1.0)
    read: Literal["whole", "last"] = "whole"


class NumericScorer:
    """1 within the tolerance, else 0."""

    def __init__(self, options: NumericOptions) -> None:
        self._options = options
        self.identity = scorer_identity(options, sys.modules[__name__])

    async def score(self, output: JSONValue, expected: JSONValue, asked: Asked | None = None) -> Score:
        """Ungraded when the expected value is no number."""
        wanted = read_number(expected)
        if wanted is None:
            return Score.ungraded(f"expected {shown(expected)} is not a number")
        found = last_number(output) if self._options.read == "last" else read_number(output)
        if found is None:
            return Score.graded(0.0, f"{shown(output)} is not a number")
        if near(found, wanted, self._options.tolerance, self._options.relative):
            return Score.graded(1.0, "equal within the tolerance")
        return Score.graded(0.0, f"expected {shown(expected)}, got {shown(output)}")

    async def close(self) -> None:
        """Nothing is held."""


def near(found: Decimal, wanted: Decimal, tolerance: float, relative: float) -> bool:
    """Exact decimal comparison: no rounding of long integers."""
    return abs(found - wanted) <= max(Decimal(tolerance), Decimal(relative) * abs(wanted))


def read_number(value: JSONValue) -> Decimal | None:
    """A JSON number, or a text that is one number and nothing else; booleans, NaN and infinity are none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, int):
        return Decimal(value)
    text = value.replace("\N{MINUS SIGN}", "-") if isinstance(value, str) else repr(value)
    hit = WHOLE.fullmatch(text) if len(text) <= MOST_CHARACTERS else None
    return Decimal(hit[1].replace(",", "")) if hit and any(c.isdigit() for c in hit[1]) else None


def last_number(value: JSONValue) -> Decimal | None:
    """The last number in a text; a JSON number as it is."""
    if not isinstance(value, str):
        return read_number(value)
    found = INSIDE.findall(value[-MOST_CHARACTERS:].replace("\N{MINUS SIGN}", "-"))
    return read_number(found[-1]) if found else None
