"""Requests and replies as the journal keeps them."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Literal

from evolve.core.hashing import JSONValue, sha256_hex
from evolve.core.messages import ModelReply, ModelRequest, ToolCall, Usage
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
        return pack_json(request.document) if self.mode == "full" else None

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


def _reply_document(reply: ModelReply) -> dict[str, JSONValue]:
    document = {
        "text": reply.text,
        "usage": list(astuple(reply.usage)),
        "finish_reason": reply.finish_reason,
        "label_logprobs": dict(reply.label_logprobs),
        "seconds": reply.seconds,
    }
    if reply.tool_calls:
        document["tool_calls"] = [call.document for call in reply.tool_calls]
    if reply.raw_usage:
        document["raw_usage"] = dict(reply.raw_usage)
    return document


def read_reply(document: JSONValue) -> ModelReply:
    """The reply that was kept."""
    calls = tuple(ToolCall(*call) for call in document.get("tool_calls", ()))
    return ModelReply(**{**document, "usage": Usage(*document["usage"]), "tool_calls": calls})
