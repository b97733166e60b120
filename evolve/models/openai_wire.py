"""The OpenAI wire format: bodies of requests, and replies read from decoded answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evolve.core.errors import WorldError
from evolve.core.messages import FinishReason, Message, ModelReply, ModelRequest, ToolCall
from evolve.models.endpoint import Endpoint
from evolve.models.label_texts import Position, score_label_texts
from evolve.models.labels import likeliest, shared_beginning
from evolve.models.usage import usage_of

OFFICIAL_URL = "https://api.openai.com/v1"
_SEEDS = 2**31
_TOP_CHAT = 20
_TOP_PLAIN = 5
_MOST_LABEL_TOKENS = 16
_CHOICES = frozenset({"auto", "none", "required"})
_FINISH: Mapping[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
    "tool_calls": "tool_calls",
}


def write_body(request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]:
    """Keyword arguments of the SDK's `create` for chat or, for a plain request, completions."""
    body: dict[str, Any] = {"model": endpoint.model}
    if endpoint.sampling:
        body |= {"temperature": request.temperature, "seed": request.seed % _SEEDS}
    if request.stop and not request.labels:
        body["stop"] = list(request.stop)
    tokens = _label_tokens(request) if request.labels else request.max_tokens
    if request.style == "plain":
        body |= {"prompt": "\n".join(m.content for m in request.messages), "max_tokens": tokens}
        return body | _plain_extras(request)
    body["messages"] = [_turn(message) for message in request.messages]
    # OpenAI's newer models refuse `max_tokens`; most of its imitators know nothing else.
    body["max_completion_tokens" if endpoint.base_url == OFFICIAL_URL else "max_tokens"] = tokens
    return body | _chat_extras(request)


def read_answer(answer: Mapping[str, Any], request: ModelRequest) -> ModelReply:
    """The reply in a decoded answer; LookupError, TypeError, AttributeError or ValueError when it is malformed.

    WorldError when labels were to be scored and the endpoint sent no log probabilities.
    """
    choice = answer["choices"][0]
    raw = answer.get("usage") or {}
    usage = usage_of("openai", raw)
    if request.labels:
        if not choice.get("logprobs"):
            raise WorldError("the endpoint sent no log probabilities, so it cannot choose labels", passing=False)
        scores = score_label_texts(request.labels, _read_positions(choice["logprobs"]))
        return ModelReply(likeliest(scores), usage=usage, label_logprobs=scores, raw_usage=raw)
    finish = _FINISH.get(choice["finish_reason"], "other")
    if request.style == "plain":
        return ModelReply(choice["text"] or "", usage=usage, finish_reason=finish, raw_usage=raw)
    message = choice["message"]
    refusal = message.get("refusal")
    calls = [
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
    ]
    return ModelReply(
        refusal or message["content"] or "",
        usage=usage,
        finish_reason="content_filter" if refusal else finish,
        tool_calls=tuple(calls),
        raw_usage=raw,
    )


def _turn(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
    turn: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        turn["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in message.tool_calls
        ]
    return turn


def _tool_extras(request: ModelRequest) -> dict[str, Any]:
    if not request.tools:
        return {}
    choice: Any = request.tool_choice
    if choice not in _CHOICES:
        choice = {"type": "function", "function": {"name": choice}}
    return {"tools": [{"type": "function", "function": tool.document} for tool in request.tools], "tool_choice": choice}


def _chat_extras(request: ModelRequest) -> dict[str, Any]:
    if request.labels:
        return {"logprobs": True, "top_logprobs": _TOP_CHAT}
    if request.json_schema is None:
        return _tool_extras(request)
    schema = {"name": "reply", "schema": dict(request.json_schema), "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": schema}, **_tool_extras(request)}


def _plain_extras(request: ModelRequest) -> dict[str, Any]:
    if request.labels:
        return {"logprobs": _TOP_PLAIN}
    if request.json_schema is None:
        return {}
    # Not OpenAI's own, but what the servers of open models take.
    return {"extra_body": {"json_schema": dict(request.json_schema)}}


def _label_tokens(request: ModelRequest) -> int:
    """One, unless labels share a beginning: then enough to tell them apart along the model's own words."""
    shared = shared_beginning(request.labels)
    return min(_MOST_LABEL_TOKENS, shared + 2) if shared else 1


def _read_positions(logprobs: Mapping[str, Any]) -> list[Position]:
    """Positions from the chat form (`content`) or from the older form of completions (parallel lists)."""
    if logprobs.get("content"):
        return [
            Position(
                entry["token"],
                {top["token"]: top["logprob"] for top in entry["top_logprobs"]} | {entry["token"]: entry["logprob"]},
            )
            for entry in logprobs["content"]
        ]
    columns = zip(logprobs["tokens"], logprobs["token_logprobs"], logprobs["top_logprobs"], strict=True)
    return [Position(token, dict(top) | {token: logprob}) for token, logprob, top in columns]
