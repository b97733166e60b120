"""Answers out of replies: what stands outside the thinking, and the last JSON object that fits."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator

from evolve.core.errors import HarnessFault
from evolve.core.hashing import JSONValue

Complaint = Callable[[JSONValue], str]
"""What is wrong with a value; empty when nothing is."""

MAX_OBJECTS = 2_000
"""How many opening braces of one reply are tried: scanning stays fast whatever the model wrote."""

_OPEN, _CLOSE = "<think>", "</think>"
_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)


def drop_thinking(text: str) -> str:
    """The reply without its <think> blocks, stripped.

    A template may have opened the block before the reply began, so all before a lone `</think>` is thinking as well.
    Raises HarnessFault when a block is never closed: what follows it is not an answer.
    """
    rest = _THOUGHT.sub("", text)
    rest = rest.rpartition(_CLOSE)[2]
    if _OPEN in rest:
        raise HarnessFault("the reply ends inside an unclosed <think>")
    return rest.strip()


def read_text(text: str) -> str:
    """The answer as text. Raises HarnessFault for an empty one."""
    answer = drop_thinking(text)
    if not answer:
        raise HarnessFault("the reply is empty")
    return answer


def read_object(text: str, complain: Complaint | None = None) -> dict[str, JSONValue]:
    """The last JSON object outside the thinking that `complain` has nothing against.

    Raises HarnessFault that says why the last one did not fit, or that there was none.
    """
    found, complaint = None, ""
    for candidate in _objects(drop_thinking(text)):
        wrong = complain(candidate) if complain else ""
        if wrong:
            complaint = wrong
        else:
            found = candidate
    if found is not None:
        return found
    if complaint:
        raise HarnessFault(f"the reply's JSON does not fit: {complaint}")
    raise HarnessFault(f"the reply holds no complete JSON object: {excerpt(text)}")


def load_json(text: str) -> JSONValue:
    """Strict JSON: ValueError for NaN, infinities, numbers out of range and nesting that is too deep."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def excerpt(text: str, limit: int = 120) -> str:
    """The end of a text, quoted, for messages."""
    return repr(text) if len(text) <= limit else "…" + repr(text[-limit:])


def _objects(text: str) -> Iterator[dict[str, JSONValue]]:
    decoder = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
    at = text.find("{")
    for _ in range(MAX_OBJECTS):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = text.find("{", end)


def _refuse_constant(word: str) -> JSONValue:
    raise ValueError(f"{word} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits} is out of range")
    return value
