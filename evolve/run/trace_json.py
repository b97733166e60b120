"""Traces as JSON documents, cut to a bounded size with the cut recorded."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from evolve.core.hashing import JSONValue, canonical_json
from evolve.core.traces import Step, Trace

MAX_OUTPUT_BYTES = 64 * 1024
"""What one step may keep in a stored trace."""


def trace_document(trace: Trace, limit: int = MAX_OUTPUT_BYTES) -> dict[str, Any]:
    """A JSON-ready dict; every over-long output is replaced by its first `limit` bytes and marked."""
    document = asdict(trace)
    document["status"] = trace.status.value
    document["spend"]["usd"] = str(trace.spend.usd)
    document["output"], document["truncated"] = cut(trace.output, limit)
    document["steps"] = [_step_document(s, limit) for s in trace.steps]
    return document


def _step_document(step: Step, limit: int) -> dict[str, Any]:
    row = asdict(step)
    row["output"], was_cut = cut(step.output, limit)
    row["truncated"] = step.truncated or was_cut
    return row


def cut(value: JSONValue, limit: int) -> tuple[JSONValue, bool]:
    """`value`, or the head of its JSON text when that is longer than `limit` bytes; and whether it was cut."""
    data = canonical_json(value)
    if len(data) <= limit:
        return value, False
    head = data[:limit].decode("utf-8", "ignore")
    return f"{head}… [cut: {len(data) - limit} of {len(data)} bytes left out]", True
