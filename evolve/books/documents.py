"""Requests and replies as the journal keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evolve.core.hashing import JSONValue, sha256_hex
from evolve.core.messages import ModelReply, ModelRequest, Usage
from evolve.store.packing import pack_json, storable

_LONGEST_NOTE = 500

JournalMode = Literal["full", "hash", "off"]
"""full: requests and replies are kept, so a resume replays them; hash: only their hashes; off: neither."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """What of a call's text is kept."""

    mode: JournalMode

    def request_hash(self, digest: str) -> str:
        """The hash that may be stored."""
        return "" if self.mode == "off" else digest

    def request(self, request: ModelRequest) -> bytes | None:
        """The packed request, or None."""
        return pack_json(_request_document(request)) if self.mode == "full" else None

    def reply(self, reply: ModelReply) -> bytes | None:
        """The packed reply, or None."""
        return pack_json(_reply_document(reply)) if self.mode == "full" else None

    def failure(self, error: Exception) -> str:
        """What may be said about an error, whose text can hold a request or a reply."""
        name = type(error).__name__
        return storable(f"{name}: {error}", _LONGEST_NOTE) if self.mode == "full" else name

    def reply_hash(self, reply: ModelReply) -> str:
        """The hash of the reply's text, or nothing."""
        return "" if self.mode == "off" else sha256_hex(reply.text.encode("utf-8", "surrogatepass"))


def _request_document(request: ModelRequest) -> dict[str, JSONValue]:
    return {
        "messages": [[m.role, m.content] for m in request.messages],
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
        "stop": request.stop,
        "style": request.style,
        "json_schema": None if request.json_schema is None else dict(request.json_schema),
        "labels": request.labels,
    }


def _reply_document(reply: ModelReply) -> dict[str, JSONValue]:
    usage = reply.usage
    return {
        "text": reply.text,
        "usage": [usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, usage.cache_write_tokens],
        "finish_reason": reply.finish_reason,
        "label_logprobs": dict(reply.label_logprobs),
        "seconds": reply.seconds,
    }


def read_reply(document: JSONValue) -> ModelReply:
    """The reply that was kept."""
    return ModelReply(**{**document, "usage": Usage(*document["usage"])})
