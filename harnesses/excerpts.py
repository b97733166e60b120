"""Failures as quoted data within a byte budget; whatever is left out is said in the text itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from evolve.core.hashing import JSONValue, canonical_json

_FIELDS = ("case_id", "input", "output", "expected", "error")
_ROW_FRAME = len(json.dumps(dict.fromkeys(_FIELDS, ""))) + 1
_ROW_FLOOR = 400
"""Bytes that a failure needs to tell anything: where there are less, fewer failures are shown."""


@dataclass(frozen=True, slots=True)
class FailureExcerpt:
    """One train case that went wrong: what was asked, answered and expected, and the fault if there was one."""

    case_id: str
    input: str
    output: JSONValue
    expected: JSONValue
    error: str = ""


@dataclass(frozen=True, slots=True)
class Excerpts:
    """`text` is at most the budget in bytes; `shown` of `total` failures stand in it, `cut` of them shortened."""

    text: str
    shown: int
    total: int
    cut: int


def excerpt_failures(failures: Sequence[FailureExcerpt], budget_bytes: int) -> Excerpts:
    """As many failures as fit, first ones first, each cut to an equal share. Text is JSON-quoted: data only."""
    total = len(failures)
    for shown in range(total, 0, -1):
        room = (budget_bytes - 80) // shown
        if room < _ROW_FLOOR and shown > 1:
            continue
        rows = [_row(failure, room) for failure in failures[:shown]]
        cut = sum(was_cut for _, was_cut in rows)
        note = f"shown: {shown} of {total} failures, {cut} of them shortened"
        text = "\n".join([note, *(row for row, _ in rows)])
        if len(text.encode("utf-8")) <= budget_bytes:
            return Excerpts(text, shown, total, cut)
    return Excerpts(f"shown: 0 of {total} failures", 0, total, 0)


def cut_text(text: str, limit_bytes: int) -> tuple[str, bool]:
    """The text, or its head and tail around a note of what is missing; at most `limit_bytes` as UTF-8."""
    head = text[: limit_bytes + 1]
    if len(text) <= limit_bytes and len(head.encode("utf-8", "replace")) <= limit_bytes:
        return text, False
    note = f" …[{len(text):,} characters in all, the middle is left out]… "
    room = max(0, limit_bytes - len(note.encode("utf-8")))
    first = text[:room].encode("utf-8", "replace")[: room * 2 // 3].decode("utf-8", "ignore")
    tail = text[-room:].encode("utf-8", "replace") if room else b""
    last = tail[len(tail) - (room - room * 2 // 3) :].decode("utf-8", "ignore")
    return (first + note + last, True) if room else ("", True)


def _row(failure: FailureExcerpt, room: int) -> tuple[str, bool]:
    """One line of JSON, and whether a field was cut. Short fields are whole, long ones share what is left."""
    fields = {name: _as_text(getattr(failure, name)) for name in _FIELDS}
    left = room - _ROW_FRAME
    was_cut = False
    for number, name in enumerate(sorted(_FIELDS, key=lambda field: len(fields[field]))):
        share = left // (len(_FIELDS) - number)
        fields[name], cut = _cut_quoted(fields[name], share)
        was_cut = was_cut or cut
        left -= _quoted_size(fields[name])
    return json.dumps(fields, ensure_ascii=False), was_cut


def _as_text(value: JSONValue) -> str:
    text = value if isinstance(value, str) else canonical_json(value).decode("utf-8", "replace")
    return text.encode("utf-8", "replace").decode("utf-8")


def _cut_quoted(text: str, limit: int) -> tuple[str, bool]:
    """Cut so that its JSON form fits: escapes can make it up to six times as long."""
    for aim in (limit, limit // 2, limit // 6):
        short, cut = cut_text(text, aim)
        if _quoted_size(short) <= limit:
            return short, cut
    return "", bool(text)


def _quoted_size(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8")) - 2
