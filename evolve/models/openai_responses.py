"""The Responses form of the OpenAI format: bodies of requests, and replies read from decoded responses.

It knows no plain prompts, no label scores worth their price (16 tokens is the least that may be asked for), no seed and
no stop sequences; the last are cut here, so the reply ends where it should, although the tokens after it are paid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evolve.core.errors import UserError
from evolve.core.messages import Capability, FinishReason, Message, ModelReply, ModelRequest, ToolCall
from evolve.models.held_back import find_stop
from evolve.models.openai_endpoint import OpenAIEndpoint
from evolve.models.openai_faults import AnswerFailed
from evolve.models.openai_wire import read_text, read_usage

CAPABILITIES = frozenset({Capability.JSON_SCHEMA, Capability.TOOLS})

_CHOICES = frozenset({"auto", "none", "required"})
_PART_TEXTS = {"output_text": "text", "refusal": "refusal"}
_INCOMPLETE: Mapping[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "content_filter"}


def write_body(request: ModelRequest, endpoint: OpenAIEndpoint) -> dict[str, Any]:
    """Keyword arguments of the SDK's `responses.create`. UserError for a plain request and for labels.

    Nothing is stored at the provider: every call carries its whole conversation.
    """
    if request.style == "plain" or request.labels:
        what = "scores no labels" if request.labels else "takes no plain prompts"
        raise UserError(f"the Responses API {what}", place=endpoint.identity, fix="set api: chat for this model")
    body: dict[str, Any] = {
        "model": endpoint.model,
        "input": [item for message in request.messages for item in _write_items(message)],
        "max_output_tokens": request.max_tokens,
        "store": False,
    }
    if endpoint.sampling:
        body["temperature"] = request.temperature
    if request.json_schema is not None:
        schema = {"type": "json_schema", "name": "reply", "schema": dict(request.json_schema), "strict": True}
        body["text"] = {"format": schema}
    return body | _write_tools(request)


def read_answer(answer: Mapping[str, Any], request: ModelRequest) -> ModelReply:
    """The reply in a decoded response; LookupError, TypeError, AttributeError or ValueError when it is malformed.

    Usage that is absent or unsound is Usage(), which the books charge at the call's bound. AnswerFailed when the
    response says that it failed.
    """
    status = answer["status"]
    if status == "failed":
        error = answer.get("error") or {}
        raise AnswerFailed(read_text(error.get("code")), read_text(error.get("message")) or "the response failed")
    if status not in {"completed", "incomplete"}:
        raise ValueError(f"the response is {status!r}")
    output = answer["output"]
    parts = [part for item in output if item["type"] == "message" for part in item["content"]]
    text = "".join(read_text(part[_PART_TEXTS[part["type"]]]) for part in parts if part["type"] in _PART_TEXTS)
    end = find_stop(text, request.stop)
    calls = tuple(_read_call(item) for item in output if item["type"] == "function_call")
    usage, raw = read_usage(answer)
    return ModelReply(
        text if end is None else text[:end],
        usage=usage,
        finish_reason="stop" if end is not None and not calls else _read_finish(answer, parts, bool(calls)),
        tool_calls=calls,
        raw_usage=raw,
    )


def _read_finish(answer: Mapping[str, Any], parts: list[Any], called: bool) -> FinishReason:
    if any(part["type"] == "refusal" for part in parts):
        return "content_filter"
    if answer["status"] == "incomplete":
        return _INCOMPLETE.get(str((answer.get("incomplete_details") or {}).get("reason")), "other")
    return "tool_calls" if called else "stop"


def _read_call(item: Mapping[str, Any]) -> ToolCall:
    return ToolCall(read_text(item["call_id"]), read_text(item["name"]), read_text(item["arguments"]))


def _write_items(message: Message) -> list[dict[str, Any]]:
    """One turn as input items: a message, the calls that it asked for, or the result of a call."""
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": message.content}]
    calls = [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
        for call in message.tool_calls
    ]
    said = [{"type": "message", "role": message.role, "content": message.content}]
    return [*said, *calls] if message.content or not calls else calls


def _write_tools(request: ModelRequest) -> dict[str, Any]:
    """Tools are not strict, as in the chat form: a strict one must list every property as required."""
    if not request.tools:
        return {}
    choice: Any = request.tool_choice
    return {
        "tools": [{"type": "function", "strict": False, **tool.document} for tool in request.tools],
        "tool_choice": choice if choice in _CHOICES else {"type": "function", "name": choice},
    }
