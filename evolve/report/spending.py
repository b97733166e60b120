"""What a campaign spent, by who asked and what for: tables for people and for JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evolve.books.purposes import purpose_of
from evolve.core.hashing import short
from evolve.core.traces import Spend
from evolve.store import CallRow, Home

PARTS: Mapping[str, Callable[[CallRow], str]] = {
    "purpose": lambda row: purpose_of(row.role),
    "role": lambda row: row.role,
    "loop": lambda row: row.loop,
    "candidate": lambda row: row.candidate,
    "case": lambda row: row.case,
    "model": lambda row: row.model,
}
"""By what spending can be told apart."""

SHOWN = 10
"""Rows of a table for people; JSON has all of them."""


def spend_tables(home: Home, campaign: str, parts: Sequence[str]) -> dict[str, dict[str, Spend]]:
    """The sums by each part, dearest first, in one pass over the journal. What is not priced sorts by its tokens."""
    tables: dict[str, dict[str, Spend]] = {part: {} for part in parts}
    for row in home.journal.iter(campaign):
        for part, table in tables.items():
            name = PARTS[part](row)
            table[name] = table.get(name, Spend()) + row.spend
    return {part: dict(sorted(table.items(), key=_dearest)) for part, table in tables.items()}


def _dearest(item: tuple[str, Spend]) -> tuple[Any, ...]:
    name, spend = item
    return (-spend.usd, -spend.usage.total_tokens, -spend.calls, name)


def spend_document(spend: Spend) -> dict[str, Any]:
    """A Spend as JSON: dollars as text, `at_least` when some calls have no price."""
    return {
        "calls": spend.calls,
        "tokens": spend.usage.total_tokens,
        "cached_tokens": spend.usage.cached_tokens,
        "usd": str(spend.usd),
        "unpriced_calls": spend.unpriced_calls,
        "at_least": spend.unpriced_calls > 0,
    }


def spend_words(document: Mapping[str, Any]) -> str:
    """`128 calls, 41,002 tokens, $0.12`, with ≥ and the count of unpriced calls where a price is unknown."""
    mark = "≥ " if document["at_least"] else ""
    unpriced = f", {document['unpriced_calls']:,} calls unpriced" if document["unpriced_calls"] else ""
    return f"{document['calls']:,} calls, {document['tokens']:,} tokens, {mark}${document['usd']}{unpriced}"


def table_lines(part: str, table: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The dearest rows of one table, and how many are left out."""
    lines = [f"By {part}:"]
    for name in list(table)[:SHOWN]:
        shown = short(name) if part in ("candidate", "case") else name or "none"
        lines.append(f"  {shown:24} {spend_words(table[name])}")
    if len(table) > SHOWN:
        lines.append(f"  and {len(table) - SHOWN:,} more; --json has all of them")
    return lines
