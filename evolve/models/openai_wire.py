"""The chat and completions forms of the OpenAI format: bodies of requests, and replies read from decoded answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evolve.core.errors import WorldError
from evolve.core.messages import FinishReason, Message, ModelReply, ModelRequest, ToolCall, Usage
from evolve.models.label_texts import Position, score_label_texts
from evolve.models.labels import likeliest, shared_beginning
from evolve.models.openai_endpoint import OFFICIAL_URL, OpenAIEndpoint
from evolve.models.usage import usage_of

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
    "function_call": "tool_calls",
}


def write_body(request: ModelRequest, endpoint: OpenAIEndpoint) -> dict[str, Any]:
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
    body["messages"] = [_write_turn(message) for message in request.messages]
    # OpenAI's newer models refuse `max_tokens`; most of its imitators know nothing else.
    newer = endpoint.base_url == OFFICIAL_URL or not endpoint.sampling
    body["max_completion_tokens" if newer else "max_tokens"] = tokens
    return body | _chat_extras(request) | _write_tools(request)


def read_answer(answer: Mapping[str, Any], request: ModelRequest) -> ModelReply:
    """The reply in a decoded answer; LookupError, TypeError, AttributeError or ValueError when it is malformed.

    Usage that is absent or unsound is Usage(), which the books charge at the call's bound. WorldError when labels were
    to be scored and the endpoint sent no log probabilities.
    """
    choice = answer["choices"][0]
    usage, raw = read_usage(answer)
    if request.labels:
        if not choice.get("logprobs"):
            raise WorldError(
                "the endpoint sent no log probabilities, so it cannot choose labels", passing=False, maybe_billed=True
            )
        scores = score_label_texts(request.labels, _read_positions(choice["logprobs"]))
        return ModelReply(likeliest(scores), usage=usage, label_logprobs=scores, raw_usage=raw)
    finish = _FINISH.get(choice["finish_reason"], "other")
    if request.style == "plain":
        return ModelReply(read_text(choice["text"]), usage=usage, finish_reason=finish, raw_usage=raw)
    message = choice["message"]
    refusal = read_text(message.get("refusal"))
    calls = tuple(_read_call(call) for call in message.get("tool_calls") or ())
    if calls and finish == "stop":  # so some endpoints end a call that was required
        finish = "tool_calls"
    return ModelReply(
        read_text(message.get("content")) + refusal,
        usage=usage,
        finish_reason="content_filter" if refusal else finish,
        tool_calls=calls,
        raw_usage=raw,
    )


def read_text(value: Any) -> str:
    """Text, or nothing for null. TypeError for what is no text."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"a text was expected, not {type(value).__name__}")
    return value or ""


def read_usage(answer: Mapping[str, Any]) -> tuple[Usage, Mapping[str, Any]]:
    """The tokens that an answer of either form names, and its own words for them; nothing where there is no record."""
    raw = answer.get("usage")
    return (usage_of("openai", raw), raw) if isinstance(raw, dict) else (Usage(), {})


def _write_turn(message: Message) -> dict[str, Any]:
    turn: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.role == "tool":
        turn["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        turn["content"] = message.content or None
        turn["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    return turn


def _write_tools(request: ModelRequest) -> dict[str, Any]:
    if not request.tools:
        return {}
    choice: Any = request.tool_choice
    if choice not in _CHOICES:
        choice = {"type": "function", "function": {"name": choice}}
    return {
        "tools": [{"type": "function", "function": tool.document} for tool in request.tools],
        "tool_choice": choice,
    }


def _read_call(call: Mapping[str, Any]) -> ToolCall:
    function = call["function"]
    return ToolCall(read_text(call["id"]), read_text(function["name"]), read_text(function["arguments"]))


def _chat_extras(request: ModelRequest) -> dict[str, Any]:
    if request.labels:
        return {"logprobs": True, "top_logprobs": _TOP_CHAT}
    if request.json_schema is None:
        return {}
    schema = {"name": "reply", "schema": dict(request.json_schema), "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


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
