"""Failures as quoted data within a byte budget; whatever is left out is said in the text itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from evolve.core.hashing import JSONValue, canonical_json

_FIELD_FLOOR = 80
"""Fewer bytes than this for a field tell nothing: then fewer failures are shown."""


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
    """As many failures as fit, first ones first, each field cut to an equal share. Text is JSON-quoted: data only."""
    total = len(failures)
    for shown in range(total, 0, -1):
        share = (budget_bytes - 80) // shown // 5
        if share < _FIELD_FLOOR and shown > 1:
            continue
        rows = [_row(failure, share) for failure in failures[:shown]]
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


def _row(failure: FailureExcerpt, share: int) -> tuple[str, bool]:
    fields: dict[str, str] = {}
    was_cut = False
    for name in ("case_id", "input", "output", "expected", "error"):
        value = getattr(failure, name)
        text = value if isinstance(value, str) else canonical_json(value).decode("utf-8", "replace")
        # quoting may double the size of what needs escapes; aim at half of the share when it would not fit
        short, cut = cut_text(text, share)
        if len(json.dumps(short, ensure_ascii=False).encode("utf-8", "replace")) > share:
            short, cut = cut_text(text, share // 2)
        fields[name] = short
        was_cut = was_cut or cut
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8"), was_cut
