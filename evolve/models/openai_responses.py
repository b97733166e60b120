"""OpenAI's responses form: bodies of requests, and replies read from decoded answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evolve.core.messages import FinishReason, Message, ModelReply, ModelRequest, ToolCall
from evolve.models.endpoint import Endpoint
from evolve.models.usage import usage_of

_CHOICES = frozenset({"auto", "none", "required"})
_LEAST_TOKENS = 16
_INCOMPLETE: Mapping[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "content_filter"}


def write_body(request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]:
    """Keyword arguments of the SDK's `responses.create`. The form has no seed and no stop texts."""
    body: dict[str, Any] = {
        "model": endpoint.model,
        "input": [item for message in request.messages for item in _items(message)],
        "max_output_tokens": max(_LEAST_TOKENS, request.max_tokens),
        "store": False,
    }
    if endpoint.sampling:
        body["temperature"] = request.temperature
    if request.json_schema is not None:
        schema = {"name": "reply", "schema": dict(request.json_schema), "strict": True}
        body["text"] = {"format": {"type": "json_schema", **schema}}
    if request.tools:
        body["tools"] = [{"type": "function", **tool.document} for tool in request.tools]
        choice = request.tool_choice
        body["tool_choice"] = choice if choice in _CHOICES else {"type": "function", "name": choice}
    return body


def read_answer(answer: Mapping[str, Any], request: ModelRequest) -> ModelReply | str:
    """The reply, or why there is none; LookupError, TypeError or AttributeError when the answer is malformed."""
    if answer["status"] not in ("completed", "incomplete"):
        error = answer.get("error") or {}
        return f"the response is {answer['status']}: {error.get('message', 'no reason given')}"
    text, refused, calls = "", False, []
    for item in answer["output"]:
        if item["type"] == "message":
            for part in item["content"]:
                refused = refused or part["type"] == "refusal"
                text += part["refusal"] if part["type"] == "refusal" else part["text"]
        elif item["type"] == "function_call":
            calls.append(ToolCall(item["call_id"], item["name"], item["arguments"]))
    raw = answer.get("usage") or {}
    finish = "content_filter" if refused else _finish(answer, bool(calls))
    cut, stopped = _cut(text, request.stop)
    return ModelReply(
        cut,
        usage=usage_of("openai", raw),
        finish_reason="stop" if stopped else finish,
        tool_calls=tuple(calls),
        raw_usage=raw,
    )


def _items(message: Message) -> Iterator[dict[str, Any]]:
    if message.role == "tool":
        yield {"type": "function_call_output", "call_id": message.tool_call_id, "output": message.content}
        return
    if message.content or not message.tool_calls:
        yield {"role": message.role, "content": message.content}
    for call in message.tool_calls:
        yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def _finish(answer: Mapping[str, Any], called: bool) -> FinishReason:
    if answer["status"] == "incomplete":
        return _INCOMPLETE.get((answer.get("incomplete_details") or {}).get("reason", ""), "other")
    return "tool_calls" if called else "stop"


def _cut(text: str, stops: tuple[str, ...]) -> tuple[str, bool]:
    """The text up to the first stop text, as the other form would have given it."""
    places = [at for stop in stops if (at := text.find(stop)) >= 0]
    return (text[: min(places)], True) if places else (text, False)
