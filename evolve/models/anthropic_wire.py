"""Anthropic's messages: bodies of requests, and replies read from decoded messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from evolve.core.messages import FinishReason, Message, ModelReply, ModelRequest, ToolCall
from evolve.models.endpoint import Endpoint
from evolve.models.held_back import find_stop
from evolve.models.usage import usage_of

OFFICIAL_URL = "https://api.anthropic.com"
_CACHED = {"type": "ephemeral"}
_EMPTY = {"type": "text", "text": "(empty)"}
_CHOICES: Mapping[str, Mapping[str, str]] = {
    "auto": {"type": "auto"},
    "none": {"type": "none"},
    "required": {"type": "any"},
}
_FINISH: Mapping[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}


def write_body(request: ModelRequest, endpoint: Endpoint, *, cache: bool) -> dict[str, Any]:
    """Keyword arguments of the SDK's `messages.create`. There is no seed; `cache` marks what repeats as cacheable."""
    body: dict[str, Any] = {
        "model": endpoint.model,
        "max_tokens": request.max_tokens,
        "messages": _closed(_turns([m for m in request.messages if m.role != "system"])),
    }
    system = "\n\n".join(m.content for m in request.messages if m.role == "system")
    if system:
        body["system"] = [_text(system) | ({"cache_control": _CACHED} if cache else {})]
    if endpoint.sampling:
        # The SDK has dropped this parameter with the newest models; the older ones still take it.
        body["extra_body"] = {"temperature": min(1.0, request.temperature)}
    if stops := [stop for stop in request.stop if stop.strip()]:
        body["stop_sequences"] = stops
    if request.json_schema is not None:
        body["output_config"] = {"format": {"type": "json_schema", "schema": dict(request.json_schema)}}
    if request.tools:
        body["tools"] = _tools(request, cache)
        chosen = _CHOICES.get(request.tool_choice, {"type": "tool", "name": request.tool_choice})
        body["tool_choice"] = dict(chosen)
    return body


def read_answer(answer: Mapping[str, Any], request: ModelRequest) -> ModelReply:
    """The reply in a decoded message; LookupError, TypeError or AttributeError when it is malformed."""
    text, calls = "", []
    for block in answer["content"]:
        if block["type"] == "text":
            text += block["text"]
        elif block["type"] == "tool_use":
            calls.append(ToolCall(block["id"], block["name"], json.dumps(block["input"], ensure_ascii=False)))
    raw = answer.get("usage") or {}
    end = find_stop(text, white_stops(request.stop))
    stopped = end is not None
    return ModelReply(
        text[:end],
        usage=usage_of("anthropic", raw),
        finish_reason="stop" if stopped else _FINISH.get(answer["stop_reason"] or "", "other"),
        tool_calls=tuple(calls),
        raw_usage=raw,
    )


def _turns(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Turns of user and assistant in alternation: neighbours of one role are one turn with several blocks."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += _blocks(message)
        else:
            turns.append({"role": role, "content": _blocks(message)})
    return turns


def _closed(turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The API wants a user's turn first, and no white space at the end of an assistant's turn that it continues."""
    if not turns or turns[0]["role"] == "assistant":
        turns = [{"role": "user", "content": [_EMPTY]}, *turns]
    last = turns[-1]["content"][-1]
    if turns[-1]["role"] == "assistant" and last["type"] == "text":
        last["text"] = last["text"].rstrip() or _EMPTY["text"]
    return turns


def _text(text: str) -> dict[str, Any]:
    """A block of text in what UTF-8 can hold."""
    return {"type": "text", "text": text.encode("utf-8", "replace").decode("utf-8")}


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": _text(message.content)["text"]}]
    blocks: list[dict[str, Any]] = [_text(message.content)] if message.content.strip() else []
    for call in message.tool_calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": _arguments(call)})
    return blocks or [dict(_EMPTY)]


def _arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments as an object: what a model once wrote badly is passed on under one name."""
    try:
        value = json.loads(call.arguments)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"unreadable": call.arguments}


def _tools(request: ModelRequest, cache: bool) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = [
        {"name": t.name, "description": t.description, "input_schema": dict(t.parameters)} for t in request.tools
    ]
    if cache:
        tools[-1]["cache_control"] = _CACHED
    return tools


def white_stops(stops: tuple[str, ...]) -> tuple[str, ...]:
    """Stop texts of white space alone are refused by the API, so they are applied here."""
    return tuple(stop for stop in stops if stop and not stop.strip())
