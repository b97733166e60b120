"""Which forms the expected answers of train examples take, read from the data alone."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from evolve.core.hashing import JSONValue, canonical_json, normal_text
from workflows.reading.dates import find_dates
from workflows.reading.numbers import find_amounts

MOST = 0.8
"""The share of values that must fit before a field counts as of a kind."""


@dataclass(frozen=True, slots=True)
class Example:
    """One train case as a proposer sees it. `text` is the query text of its input."""

    id: str
    text: str
    expected: JSONValue


class Kind(StrEnum):
    """What a value is; a field can be several at once (a date that is also copied from the input)."""

    LABEL = "label"
    NUMBER = "number"
    DATE = "date"
    AMOUNT = "amount"
    SPAN = "span"
    TEXT = "text"
    BOOLEAN = "boolean"
    CALL = "call"
    OTHER = "other"


@dataclass(frozen=True)
class Field:
    """One part of an answer. `key` is "" for an answer that is no object; `values` are distinct, most common first."""

    key: str
    kinds: frozenset[Kind]
    values: tuple[JSONValue, ...]


@dataclass(frozen=True)
class Shape:
    """Examples whose answers have one form. `name` reads `{amount, date}` or `number`."""

    name: str
    fields: tuple[Field, ...]
    examples: tuple[Example, ...]

    @property
    def is_call(self) -> bool:
        """True when the answers are tool calls `{tool, args}`."""
        return any(Kind.CALL in field.kinds for field in self.fields)

    @property
    def is_object(self) -> bool:
        """True when the answers are JSON objects."""
        return self.name.startswith("{")

    @property
    def case_ids(self) -> frozenset[str]:
        """The train cases behind the shape."""
        return frozenset(example.id for example in self.examples)

    def slug(self) -> str:
        """The name in letters that a file or node name can carry."""
        return "_".join(re.findall(r"[a-z0-9]+", self.name.lower()))[:40] or "answer"


def infer_shapes(examples: Sequence[Example]) -> list[Shape]:
    """One shape per set of keys (objects) or per type (all else), largest first."""
    groups: dict[str, list[Example]] = {}
    for example in examples:
        groups.setdefault(shape_name(example.expected), []).append(example)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return [Shape(name, _fields(name, group), tuple(group)) for name, group in ordered]


def shape_name(expected: JSONValue) -> str:
    """The shape an expected value belongs to."""
    if isinstance(expected, dict):
        return "{" + ", ".join(sorted(expected)) + "}"
    if isinstance(expected, bool):
        return "boolean"
    if isinstance(expected, int | float):
        return "number"
    if isinstance(expected, str):
        return "text"
    return "list" if isinstance(expected, list) else "null"


def field_value(expected: JSONValue, key: str) -> JSONValue:
    """The part of an answer that belongs to the field with this key."""
    return expected[key] if key else expected


def is_number(value: JSONValue) -> bool:
    """True for a finite number or a text that is one."""
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return math.isfinite(value)
    return isinstance(value, str) and _NUMBER.fullmatch(value.strip()) is not None


def to_number(value: JSONValue) -> float:
    """The number that `is_number` recognised."""
    return float(value.strip().replace(",", "")) if isinstance(value, str) else float(value)


_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")


def _fields(name: str, group: Sequence[Example]) -> tuple[Field, ...]:
    first = group[0].expected
    keys = sorted(first) if isinstance(first, dict) else [""]
    if isinstance(first, dict) and _are_calls(group):
        return (Field("", frozenset({Kind.CALL}), ()),)
    return tuple(_profile(key, group) for key in keys)


def _are_calls(group: Sequence[Example]) -> bool:
    return all(
        set(e.expected) == {"tool", "args"}
        and isinstance(e.expected["tool"], str)
        and isinstance(e.expected["args"], dict)
        for e in group
    )


def _profile(key: str, group: Sequence[Example]) -> Field:
    pairs = [(example, field_value(example.expected, key)) for example in group]
    values = [value for _, value in pairs]
    counts = Counter(canonical_json(value) for value in values)
    first_seen = {canonical_json(value): value for value in reversed(values)}
    kinds = {kind for kind, fits in _VALUE_TESTS.items() if _mostly([fits(v) for v in values])}
    if _mostly([_is_copied(example.text, value) for example, value in pairs]):
        kinds.add(Kind.SPAN)
    if Kind.NUMBER in kinds and _mostly([_is_money(example.text, value) for example, value in pairs]):
        kinds.add(Kind.AMOUNT)
    if Kind.TEXT in kinds and not kinds & {Kind.NUMBER, Kind.DATE} and _is_label_like(counts):
        kinds.add(Kind.LABEL)
    return Field(
        key=key,
        kinds=frozenset(kinds or {Kind.OTHER}),
        values=tuple(first_seen[value] for value, _ in counts.most_common()),
    )


def _mostly(fits: Sequence[bool]) -> bool:
    return sum(fits) >= MOST * len(fits)


def _is_copied(text: str, value: JSONValue) -> bool:
    return isinstance(value, str) and bool(value.strip()) and normal_text(value) in normal_text(text)


def _is_money(text: str, value: JSONValue) -> bool:
    """The number stands in the text beside a currency."""
    return is_number(value) and any(found.value == to_number(value) for found in find_amounts(text))


def _is_date(value: JSONValue) -> bool:
    return isinstance(value, str) and any(found.text == value.strip() for found in find_dates(value))


def _is_label_like(counts: Counter[bytes]) -> bool:
    """Few distinct values, most of them seen again."""
    total = sum(counts.values())
    repeated = sum(count for count in counts.values() if count > 1)
    return 2 <= len(counts) <= max(2, total // 2) and repeated >= MOST * total


_VALUE_TESTS: dict[Kind, Callable[[JSONValue], bool]] = {
    Kind.NUMBER: is_number,
    Kind.DATE: _is_date,
    Kind.TEXT: lambda value: isinstance(value, str),
    Kind.BOOLEAN: lambda value: isinstance(value, bool),
}
