"""Cheap lexical features of a query: what a sentence embedding blurs (length, numbers, code, layout, script)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FEATURES: tuple[str, ...] = (
    "characters",
    "words",
    "word_length",
    "lines",
    "numbers",
    "longest_number",
    "digit_share",
    "capital_share",
    "punctuation_share",
    "non_ascii_share",
    "question_marks",
    "currency_signs",
    "percent_signs",
    "operators",
    "code_marks",
    "quotes",
    "choices",
    "starts_with_question_word",
)
"""Names of the columns, in order; counts are log(1 + count)."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_CHOICE = re.compile(r"(?:^|\s)\(?[A-Ja-j1-9][).:]\s")
_QUESTION = re.compile(r"\s*(?:who|what|when|where|which|why|how|is|are|do|does|did|can)\b", re.IGNORECASE)
_COUNTED = tuple(re.compile(f"[{re.escape(s)}]") for s in ("?", "$€£¥₹₩", "%", "+-*/=^<>×÷", "{}();`_\\", "\"'“”‘’"))
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile(r"\d")
_CAPITAL = re.compile(r"[A-ZÀ-ÖØ-ÞΑ-ΩА-Я]")
_PLAIN = re.compile(r"[^\W_]|\s")


def lexical_features(texts: Sequence[str]) -> NDArray[np.float64]:
    """Shape (len(texts), len(FEATURES)); finite for any text, the empty one included."""
    return np.array([_features(text) for text in texts], np.float64).reshape(len(texts), len(FEATURES))


def _features(text: str) -> list[float]:
    words, size = text.split(), max(len(text), 1)
    numbers = _NUMBER.findall(text)
    letters, digits, capitals, plain = (_count(kind, text) for kind in (_LETTER, _DIGIT, _CAPITAL, _PLAIN))
    counts = [
        len(text),
        len(words),
        sum(map(len, words)) / max(len(words), 1),
        text.count("\n"),
        len(numbers),
        max(map(len, numbers), default=0),
    ]
    shares = [digits / size, capitals / max(letters, 1), (size - plain) / size if text else 0.0, _foreign(text) / size]
    seen = [_count(signs, text) for signs in _COUNTED]
    tail = [math.log1p(len(_CHOICE.findall(text))), float(_QUESTION.match(text) is not None)]
    return [*map(math.log1p, counts), *shares, *map(math.log1p, seen), *tail]


def _count(kind: re.Pattern[str], text: str) -> int:
    """How many characters match."""
    return len(kind.findall(text))


def _foreign(text: str) -> int:
    """Characters outside ASCII."""
    return 0 if text.isascii() else sum(ord(c) > 127 for c in text)
