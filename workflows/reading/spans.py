"""Candidate spans by kind: the pieces of a text that an answer may be chosen from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from evolve.core.hashing import JSONValue, canonical_json
from workflows.reading.dates import Span, find_dates
from workflows.reading.numbers import Decimals, find_amounts, find_currencies, find_plain_numbers

Kind = Literal["date", "amount", "number", "currency", "email", "identifier", "name", "quoted", "span"]

MAX_CANDIDATES = 200
_LONGEST_RUN = 3
_MAX_RUNS = 2_000
_STOP_WORD = re.compile(
    r"a|an|the|and|or|but|of|to|in|on|at|by|for|with|from|as|is|are|was|were|be|been|it|its|this|that|these|those|i|you"
    r"|he|she|we|they|me|my|your|our|his|her|their|please|can|could|would|will|do|does|did|have|has|had|not|no",
    re.IGNORECASE,
)

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_IDENTIFIER = re.compile(
    r"(?<![\w/-])(?![0-9]+(?:st|nd|rd|th)\b)#?(?=[\w/-]*[0-9])(?=[\w/-]*[A-Za-z#])[A-Za-z0-9]+(?:[-_/][A-Za-z0-9]+)*(?![\w-])"
)
_TAGGED = re.compile(r"#[0-9]+(?![\w-])")
_NAME = re.compile(r"(?<!\w)[^\W\d_a-z][\w&'’.-]*(?:\s+(?:(?:of|de|van|von|and|&)\s+)?[^\W\d_a-z][\w&'’-]*)*")
_QUOTED = re.compile(r"[\"“«]([^\"“”«»\n]{1,120})[\"”»]")
_WORD = re.compile(r"[^\s,;:!?()\[\]{}\"“”«»]+")
_BREAK = re.compile(r"[,;:!?()\[\]{}\"“”«»\n]|\.\s")


@dataclass(frozen=True, slots=True)
class SpanOptions:
    """How dates and numbers are to be read."""

    day_first: bool = True
    decimal: Decimals = "auto"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible answer: as written, and its normal form."""

    text: str
    value: JSONValue


def find_candidates(text: str, kind: Kind, options: SpanOptions) -> tuple[Candidate, ...]:
    """At most 200 candidates in order of first appearance, one for each different value.

    Amounts are numbers with a currency; where there are none, the numbers with two decimals, else all plain numbers.
    `span` is the union of everything special and of runs of up to three words.
    """
    return _distinct(_find(text, kind, options))


def _find(text: str, kind: Kind, options: SpanOptions) -> Iterable[Span]:
    if kind == "date":
        return find_dates(text, day_first=options.day_first)
    if kind == "amount":
        return find_amounts(text, decimal=options.decimal) or _bare_amounts(text, options)
    if kind == "number":
        return find_plain_numbers(text, decimal=options.decimal, day_first=options.day_first)
    if kind == "currency":
        return find_currencies(text)
    return _find_words(text, kind)


def _find_words(text: str, kind: Kind) -> list[Span]:
    if kind == "email":
        return _matches(_EMAIL, text)
    if kind == "identifier":
        return sorted([*_matches(_IDENTIFIER, text), *_matches(_TAGGED, text)], key=lambda s: s.start)
    if kind == "name":
        return _matches(_NAME, text)
    if kind == "quoted":
        return [Span(m.start(1), m.end(1), m[1], m[1]) for m in _QUOTED.finditer(text)]
    kinds: tuple[Kind, ...] = ("quoted", "name", "email", "identifier")
    special = [span for each in kinds for span in _find_words(text, each)]
    return [*special, *_as_written(find_dates(text)), *_as_written(find_amounts(text)), *_word_runs(text)]


def _bare_amounts(text: str, options: SpanOptions) -> list[Span]:
    numbers = find_plain_numbers(text, decimal=options.decimal, day_first=options.day_first)
    with_cents = [n for n in numbers if re.search(r"[.,][0-9]{2}$", n.text)]
    return [Span(n.start, n.end, n.text, round(float(n.value), 2)) for n in with_cents or numbers]


def _word_runs(text: str) -> list[Span]:
    words = [(m.start(), m.start() + len(m[0].rstrip("."))) for m in _WORD.finditer(text)]
    runs: list[Span] = []
    for first, (start, _) in enumerate(words):
        if len(runs) >= _MAX_RUNS:
            break
        for _, end in words[first : first + _LONGEST_RUN]:
            if _BREAK.search(text, start, end):
                break
            run = text[start:end]
            if run and not any(_STOP_WORD.fullmatch(edge) for edge in (run.split()[0], run.split()[-1])):
                runs.append(Span(start, end, run, run))
    return runs


def _matches(pattern: re.Pattern[str], text: str) -> list[Span]:
    found = [(m.start(), m[0].rstrip(".'’-")) for m in pattern.finditer(text)]
    return [Span(start, start + len(piece), piece, piece) for start, piece in found if piece]


def _as_written(spans: Iterable[Span]) -> list[Span]:
    return [Span(s.start, s.end, s.text, s.text) for s in spans]


def _distinct(spans: Iterable[Span]) -> tuple[Candidate, ...]:
    found: dict[bytes, Candidate] = {}
    for span in spans:
        found.setdefault(canonical_json(span.value), Candidate(span.text, span.value))
        if len(found) >= MAX_CANDIDATES:
            break
    return tuple(found.values())
