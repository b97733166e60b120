"""Finding the arithmetic behind a numeric answer by searching over the numbers in the question."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from workflows.reading.numbers import find_plain_numbers

MAX_NUMBERS = 6
"""Questions with more numbers are skipped: almost any answer could be reached by chance."""

_PRIMES = (2, 3, 5, 7, 11, 13, 17)
PERCENT = "100"
"""What joins the numbers of a question that speaks of percent."""

_PERCENT_SIGN = re.compile(r"%|\bpercent\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Term:
    """`probe` is the value at an arbitrary point: terms with equal probes are one formula however they are written."""

    text: str
    value: float
    probe: float
    used: frozenset[int]

    @property
    def grouped(self) -> str:
        return self.text if len(self.used) == 1 else f"({self.text})"


def find_expression(text: str, answer: float, *, decimals: int) -> str | None:
    """The one formula of one step, else of two, over numbers of `text` that gives `answer` at `decimals` digits.

    None when there is none, or several that differ: a guess would teach the wrong rule. 100 joins
    the numbers when the text speaks of percent.
    """
    numbers = numbers_in(text)
    if not 2 <= len(numbers) <= MAX_NUMBERS:
        return None
    if _PERCENT_SIGN.search(text) and PERCENT not in numbers:
        numbers.append(PERCENT)
    atoms = [
        _Term(n, float(n), math.sqrt(prime), frozenset({prime})) for n, prime in zip(numbers, _PRIMES, strict=False)
    ]
    one_step = list(_steps(atoms, atoms))
    for candidates in (one_step, _steps(one_step, atoms)):
        fitting = [term for term in candidates if _equal(term.value, answer, decimals)]
        if fitting:
            return fitting[0].text if len({round(term.probe, 9) for term in fitting}) == 1 else None
    return None


def numbers_in(text: str) -> list[str]:
    """Distinct numbers of a text in order, as plain digits; dates do not count."""
    return list(dict.fromkeys(str(abs(number.value)) for number in find_plain_numbers(text)))


def decimals_of(values: Sequence[object]) -> int:
    """The most digits after the point among numeric answers, at most 6."""
    most = 0
    for value in values:
        try:
            exponent = Decimal(str(value).replace(",", "")).normalize().as_tuple().exponent
        except InvalidOperation:
            continue
        most = max(most, -exponent if isinstance(exponent, int) else 0)
    return min(most, 6)


def _steps(left: Sequence[_Term], right: Sequence[_Term]) -> Iterator[_Term]:
    """Every sum, product, difference and quotient of a left and a right term that share no number."""
    for a, b in itertools.product(left, right):
        if a.used & b.used:
            continue
        used = a.used | b.used
        yield _Term(f"{a.grouped} + {b.grouped}", a.value + b.value, a.probe + b.probe, used)
        yield _Term(f"{a.grouped} * {b.grouped}", a.value * b.value, a.probe * b.probe, used)
        for x, y in ((a, b), (b, a)):
            yield _Term(f"{x.grouped} - {y.grouped}", x.value - y.value, x.probe - y.probe, used)
            if y.value:
                yield _Term(f"{x.grouped} / {y.grouped}", x.value / y.value, x.probe / y.probe, used)


def _equal(value: float, answer: float, decimals: int) -> bool:
    """Whole answers must be met exactly: rounding to whole numbers would let chance in."""
    shown = round(value, decimals) if decimals else value
    return abs(shown - answer) <= 1e-9 * max(1.0, abs(answer))
