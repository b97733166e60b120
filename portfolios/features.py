"""Cheap lexical features of a query: what a sentence embedding blurs (length, numbers, code, layout, script)."""

from __future__ import annotations

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
_COUNTED = ("?", "$€£¥₹₩", "%", "+-*/=^<>×÷", "{}();`_\\", "\"'“”‘’")


def lexical_features(texts: Sequence[str]) -> NDArray[np.float64]:
    """Shape (len(texts), len(FEATURES)); finite for any text, the empty one included."""
    return np.array([_features(text) for text in texts], np.float64).reshape(len(texts), len(FEATURES))


def _features(text: str) -> list[float]:
    words, size = text.split(), max(len(text), 1)
    numbers = [m.group() for m in _NUMBER.finditer(text)]
    letters = [c for c in text if c.isalpha()]
    marks = sum(not c.isalnum() and not c.isspace() for c in text)
    counts = [
        len(text),
        len(words),
        sum(map(len, words)) / max(len(words), 1),
        text.count("\n"),
        len(numbers),
        max(map(len, numbers), default=0),
    ]
    shares = [
        sum(c.isdigit() for c in text) / size,
        sum(c.isupper() for c in letters) / max(len(letters), 1),
        marks / size,
        sum(ord(c) > 127 for c in text) / size,
    ]
    seen = [sum(text.count(c) for c in signs) for signs in _COUNTED]
    tail = [np.log1p(len(_CHOICE.findall(text))), float(_QUESTION.match(text) is not None)]
    return [*np.log1p(counts), *shares, *np.log1p(seen), *tail]
