"""Streams of the OpenAI format: pieces of text as they arrive, and in the end an answer as if it had come at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from evolve.models.openai_faults import AnswerFailed
from evolve.models.openai_wire import read_text

_DELTAS = frozenset({"response.output_text.delta", "response.refusal.delta"})
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


class Gathering(Protocol):
    """One stream being read."""

    def take(self, event: Mapping[str, Any]) -> str:
        """The text in the next event, perhaps none. Raises as `read_answer` does for what is malformed."""
        ...

    def answer(self) -> dict[str, Any] | None:
        """The decoded answer that the events add up to; None when the stream ended before it was whole."""
        ...


class ChatStream:
    """Chunks of chat completions or of completions. Usage comes last, in a chunk without choices."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {"content": [], "refusal": [], "text": []}
        self._calls: dict[int, dict[str, str]] = {}
        self._finish: str | None = None
        self._usage: Mapping[str, Any] | None = None

    def take(self, event: Mapping[str, Any]) -> str:
        """Content, refusal or completion text of the first choice."""
        self._usage = event.get("usage") or self._usage
        pieces = []
        for choice in (event.get("choices") or ())[:1]:
            self._finish = choice.get("finish_reason") or self._finish
            delta = choice.get("delta") or {}
            pieces += [self._add("text", choice), self._add("content", delta), self._add("refusal", delta)]
            for position, fragment in enumerate(delta.get("tool_calls") or ()):
                self._add_call(position, fragment)
        return "".join(pieces)

    def answer(self) -> dict[str, Any] | None:
        """Whole once a finish reason has come."""
        if self._finish is None:
            return None
        texts = {name: "".join(pieces) for name, pieces in self._texts.items()}
        calls = [
            {"id": call["id"], "function": {"name": call["name"], "arguments": call["arguments"]}}
            for _, call in sorted(self._calls.items())
        ]
        choice = {"finish_reason": self._finish, "text": texts.pop("text"), "message": {**texts, "tool_calls": calls}}
        return {"choices": [choice], "usage": self._usage}

    def _add(self, name: str, source: Mapping[str, Any]) -> str:
        piece = read_text(source.get(name))
        self._texts[name].append(piece)
        return piece

    def _add_call(self, position: int, fragment: Mapping[str, Any]) -> None:
        """Id and name come once, arguments in fragments; some endpoints number no calls."""
        at = fragment.get("index")
        call = self._calls.setdefault(position if at is None else at, {"id": "", "name": "", "arguments": ""})
        function = fragment.get("function") or {}
        call["id"] = read_text(fragment.get("id")) or call["id"]
        call["name"] = read_text(function.get("name")) or call["name"]
        call["arguments"] += read_text(function.get("arguments"))


class ResponsesStream:
    """Events of the Responses API. The last one carries the whole response, its usage included."""

    def __init__(self) -> None:
        self._response: dict[str, Any] | None = None

    def take(self, event: Mapping[str, Any]) -> str:
        """Text and refusals; AnswerFailed for an error event."""
        kind = event["type"]
        if kind == "error":
            raise AnswerFailed(read_text(event.get("code")), read_text(event.get("message")) or "the stream failed")
        if kind in _ENDS:
            self._response = event["response"]
        return read_text(event["delta"]) if kind in _DELTAS else ""

    def answer(self) -> dict[str, Any] | None:
        """The response of the last event."""
        return self._response
