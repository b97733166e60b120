"""Requests and replies as the journal keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field
from typing import Literal

from evolve.books.recorded import RecordedStop
from evolve.core.errors import WorldError
from evolve.core.hashing import JSONValue, sha256_hex
from evolve.core.messages import ModelReply, ModelRequest, ToolCall, Usage
from evolve.core.redact import Redactor
from evolve.store.packing import pack_json, storable

_LONGEST_NOTE = 500

JournalMode = Literal["full", "hash", "off"]
"""full: requests and replies are kept, so a resume replays them; hash: only their hashes; off: neither."""


MODES: tuple[JournalMode, ...] = ("full", "hash", "off")
"""From the one that keeps most to the one that keeps least."""
REDACTED = "the reply holds a secret: kept redacted, never replayed"
LOST = "no answer came, and it may have been billed: charged at its bound"
_HALTS = " (halts)"


@dataclass(frozen=True)
class JournalModes:
    """A mode for each role; `default` for the roles that are not named."""

    default: JournalMode = "full"
    roles: Mapping[str, JournalMode] = field(default_factory=dict)

    def of(self, role: str) -> JournalMode:
        """The mode of one role."""
        return self.roles.get(role, self.default)

    def strictest(self, roles: Iterable[str]) -> JournalMode:
        """The mode that keeps least among those of `roles`: for text that several roles had a part in."""
        return max((self.of(role) for role in roles), key=MODES.index, default=self.default)

    def silent(self, roles: Iterable[str]) -> tuple[str, ...]:
        """Those of `roles` whose replies are not kept, sorted."""
        return tuple(sorted(role for role in roles if self.of(role) != "full"))


@dataclass(frozen=True, slots=True)
class Keeping:
    """What of a call's text is kept, with the secrets out."""

    mode: JournalMode
    redactor: Redactor

    def request_hash(self, digest: str) -> str:
        """The hash that may be stored."""
        return "" if self.mode == "off" else digest

    def request(self, request: ModelRequest) -> bytes | None:
        """The packed request, or None."""
        return pack_json(self.redactor.value(request.document)) if self.mode == "full" else None

    def reply(self, reply: ModelReply) -> tuple[bytes | None, str]:
        """The packed reply, or None; and what must be said of one that is not what the model said."""
        if self.mode != "full":
            return None, ""
        document = _reply_document(reply)
        clean = self.redactor.value(document)
        return pack_json(clean), REDACTED if clean is not document else ""

    def failure(self, error: Exception) -> str:
        """What may be said about an error, whose text can hold a request or a reply."""
        name = type(error).__name__ + (_HALTS if isinstance(error, WorldError) and error.halts else "")
        return storable(self.redactor.text(f"{name}: {error}"), _LONGEST_NOTE) if self.mode == "full" else name

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


def read_failure(note: str) -> WorldError:
    """The error that `Keeping.failure` wrote down, to be raised again: one that stopped the campaign stops it again."""
    if note == LOST:
        return WorldError(note, passing=False)
    name, _, text = note.partition(": ")
    if name == "UserError" or name.endswith(_HALTS):
        return RecordedStop(text)
    return WorldError(text or note, passing=False)
