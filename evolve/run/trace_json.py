"""Traces as JSON documents, cut to a bounded size with the cut recorded."""

from __future__ import annotations

from typing import Any

from evolve.books import JournalMode
from evolve.core.hashing import JSONValue, canonical_json, content_hash
from evolve.core.messages import Usage
from evolve.core.traces import Step, Trace

MAX_OUTPUT_BYTES = 64 * 1024
"""What one step may keep in a stored trace."""


def trace_document(trace: Trace, limit: int = MAX_OUTPUT_BYTES, keep: JournalMode = "full") -> dict[str, Any]:
    """A JSON-ready dict; every over-long output is replaced by its first `limit` bytes and marked.

    `keep` is the journal's mode for the text in it: with `hash` every output is `{"sha256": …}` and with `off` null,
    errors are left out in both, and the document says so under `kept`.
    """
    return hide_texts(_whole_document(trace, limit), keep) if keep != "full" else _whole_document(trace, limit)


def hide_texts(document: dict[str, Any], keep: str) -> dict[str, Any]:
    """A trace document without its texts, marked with `keep`; status, costs and the names of the steps stay."""

    def hide(part: dict[str, Any]) -> dict[str, Any]:
        output = {"sha256": content_hash(part["output"])} if keep == "hash" and part.get("output") is not None else None
        return {**part, "output": output, "error": "", "truncated": False}

    return {**hide(document), "steps": [hide(step) for step in document.get("steps", ())], "kept": keep}


def _whole_document(trace: Trace, limit: int) -> dict[str, Any]:
    output, truncated = cut(trace.output, limit)
    return {
        "tree": trace.tree,
        "case_fingerprint": trace.case_fingerprint,
        "repetition": trace.repetition,
        "status": trace.status.value,
        "output": output,
        "truncated": truncated,
        "error": trace.error,
        "steps": [_step_document(step, limit) for step in trace.steps],
        "spend": {
            "calls": trace.spend.calls,
            "usage": _usage_document(trace.spend.usage),
            "usd": str(trace.spend.usd),
            "unpriced_calls": trace.spend.unpriced_calls,
        },
        "seconds": trace.seconds,
    }


def _step_document(step: Step, limit: int) -> dict[str, Any]:
    output, was_cut = cut(step.output, limit)
    return {
        "node": step.node,
        "operator": step.operator,
        "visit": step.visit,
        "seconds": step.seconds,
        "output": output,
        "truncated": step.truncated or was_cut,
        "error": step.error,
        "calls": step.calls,
        "usage": _usage_document(step.usage),
    }


def _usage_document(usage: Usage) -> dict[str, int]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cached_tokens": usage.cached_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "cache_write_1h_tokens": usage.cache_write_1h_tokens,
    }


def cut(value: JSONValue, limit: int) -> tuple[JSONValue, bool]:
    """`value`, or the head of its JSON text when that is longer than `limit` bytes; and whether it was cut."""
    data = canonical_json(value)
    if len(data) <= limit:
        return value, False
    head = data[:limit].decode("utf-8", "ignore")
    return f"{head}… [cut: {len(data) - limit} of {len(data)} bytes left out]", True
