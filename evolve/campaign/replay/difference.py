"""The first thing in which a replay differs from its recording, in words."""

from __future__ import annotations

import json
from typing import Any

from evolve.campaign.replay.record import Expected

SHOWN = 160


def first_difference(recorded: Expected, replayed: Expected) -> str:
    """Empty when both are the same; else the first ledger row, or the ending, that differs."""
    for number, (was, now) in enumerate(zip(recorded.ledger, replayed.ledger, strict=False), start=1):
        for name in ("kind", "subject"):
            if getattr(was, name) != getattr(now, name):
                return f"ledger row {number} ({was.kind}): {name} was {getattr(was, name)!r}, is {getattr(now, name)!r}"
        if words := _inner("", was.detail, now.detail):
            return f"ledger row {number} ({was.kind} of {was.subject[:12]}): {words}"
    if len(recorded.ledger) != len(replayed.ledger):
        shorter = min(len(recorded.ledger), len(replayed.ledger))
        longer = max(recorded.ledger, replayed.ledger, key=len)
        which = "missing" if longer is recorded.ledger else "new"
        return f"ledger row {shorter + 1} ({longer[shorter].kind} of {longer[shorter].subject[:12]}) is {which}"
    for name in ("conclusion", "version", "status"):
        if getattr(recorded, name) != getattr(replayed, name):
            return f"{name} was {getattr(recorded, name)!r}, is {getattr(replayed, name)!r}"
    return ""


def _inner(place: str, was: Any, now: Any) -> str:
    """The first leaf that differs, by its dotted place."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted({*was, *now}):
            where = f"{place}.{key}" if place else str(key)
            if key not in was or key not in now:
                return f"{where} is {'new' if key not in was else 'gone'}"
            if words := _inner(where, was[key], now[key]):
                return words
        return ""
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for number, (one, other) in enumerate(zip(was, now, strict=True)):
            if words := _inner(f"{place}[{number}]", one, other):
                return words
        return ""
    return "" if was == now else f"{place} was {_shown(was)}, is {_shown(now)}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
