"""Streams of OpenAI's two forms, put together into the answer that would have come in one piece."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from openai import OpenAIError

from evolve.core.messages import OnText

_ENDS = frozenset({"response.completed", "response.incomplete"})


class BrokenStream(Exception):
    """A stream ended before its answer did, or said that something went wrong."""


async def collect_chat(stream: AsyncIterator[Any], tell: OnText) -> dict[str, Any]:
    """The whole chat completion. Raises BrokenStream when the stream ends without a reason for its end."""
    message: dict[str, Any] = {"content": "", "refusal": "", "tool_calls": {}}
    finish, usage = None, None
    async for chunk in _guarded(stream):
        usage = _dump(chunk.usage) or usage
        for choice in chunk.choices or ():
            _add_delta(message, choice.delta, tell)
            finish = choice.finish_reason or finish
    if finish is None:
        raise BrokenStream("the stream ended before the answer did")
    calls = [message["tool_calls"][index] for index in sorted(message["tool_calls"])]
    whole = {"content": message["content"], "refusal": message["refusal"] or None, "tool_calls": calls}
    return {"choices": [{"message": whole, "finish_reason": finish}], "usage": usage}


async def collect_response(stream: AsyncIterator[Any], tell: OnText) -> dict[str, Any]:
    """The whole response. Raises BrokenStream for a failed one and for a stream that ends early."""
    async for event in _guarded(stream):
        if event.type == "response.output_text.delta":
            tell(event.delta)
        elif event.type in _ENDS:
            answer: dict[str, Any] = event.response.model_dump()
            return answer
        elif event.type in ("error", "response.failed"):
            raise BrokenStream(f"the provider broke off: {_reason(event)}")
    raise BrokenStream("the stream ended before the answer did")


async def _guarded(stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """The stream; whatever breaks once it has begun is a broken stream."""
    try:
        async for item in stream:
            yield item
    except OpenAIError as fault:
        raise BrokenStream(f"the stream broke: {fault}") from fault
    except Exception as fault:  # the transport's errors are not the SDK's own
        if isinstance(fault, BrokenStream):
            raise
        raise BrokenStream(f"the stream broke: {type(fault).__name__}") from fault


def _add_delta(message: dict[str, Any], delta: Any, tell: OnText) -> None:
    if delta is None:
        return
    if delta.content:
        message["content"] += delta.content
        tell(delta.content)
    if delta.refusal:
        message["refusal"] += delta.refusal
    for piece in delta.tool_calls or ():
        empty = {"id": "", "function": {"name": "", "arguments": ""}}
        call = message["tool_calls"].setdefault(piece.index, empty)
        call["id"] = piece.id or call["id"]
        if piece.function is not None:
            call["function"]["name"] += piece.function.name or ""
            call["function"]["arguments"] += piece.function.arguments or ""


def _dump(usage: Any) -> Mapping[str, Any] | None:
    return None if usage is None else usage.model_dump()


def _reason(event: Any) -> str:
    response = getattr(event, "response", None)
    error = getattr(response, "error", None) if response is not None else event
    return str(getattr(error, "message", None) or "no reason given")
