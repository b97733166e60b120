"""A stream of Anthropic's events, put together into the message that would have come in one piece."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from anthropic import AnthropicError

from evolve.core.messages import OnText
from evolve.models.held_back import HeldBack


class BrokenStream(Exception):
    """A stream that ended before its message did, or said that something went wrong."""


async def collect(stream: AsyncIterator[Any], held: HeldBack, tell: OnText | None) -> dict[str, Any]:
    """The whole message, usage included. BrokenStream for a stream that breaks or ends early."""
    message: dict[str, Any] = {}
    texts: dict[int, str] = {}
    async for event in _guarded(stream):
        if event.type == "message_start":
            message = event.message.model_dump()
        elif event.type == "content_block_start":
            message["content"].append(event.content_block.model_dump())
            texts[event.index] = ""
        elif event.type == "content_block_delta":
            piece = _add_delta(message["content"][event.index], texts, event)
            _tell(held.pass_on(piece), tell)
        elif event.type == "content_block_stop":
            _close_block(message["content"][event.index], texts.get(event.index, ""))
        elif event.type == "message_delta":
            message["stop_reason"] = event.delta.stop_reason
            told = {name: value for name, value in event.usage.model_dump().items() if value is not None}
            message["usage"] |= told
        elif event.type == "message_stop":
            _tell(held.rest(), tell)
            return message
    raise BrokenStream("the stream ended before the answer did")


async def _guarded(stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """The stream; whatever breaks once it has begun is a broken stream."""
    try:
        async for item in stream:
            yield item
    except AnthropicError as fault:
        raise BrokenStream(f"the stream broke: {fault}") from None
    except (OSError, ValueError, LookupError, RuntimeError) as fault:
        raise BrokenStream(f"the stream broke: {type(fault).__name__}") from None
    except Exception as fault:  # the transport's errors have no name here: it is the SDK's own
        if isinstance(fault, BrokenStream) or "http" not in type(fault).__module__:
            raise
        raise BrokenStream(f"the stream broke: {type(fault).__name__}") from None


def _tell(text: str, tell: OnText | None) -> None:
    if text and tell is not None:
        tell(text)


def _add_delta(block: dict[str, Any], texts: dict[int, str], event: Any) -> str:
    """The text in a delta, perhaps none."""
    if event.delta.type == "text_delta":
        block["text"] += event.delta.text
        return str(event.delta.text)
    if event.delta.type == "input_json_delta":
        texts[event.index] += event.delta.partial_json
    return ""


def _close_block(block: dict[str, Any], text: str) -> None:
    """A tool's input arrives as pieces of JSON text."""
    if block["type"] == "tool_use" and text:
        try:
            block["input"] = json.loads(text)
        except ValueError as fault:
            raise BrokenStream(f"a tool call's input is not JSON: {fault}") from None
