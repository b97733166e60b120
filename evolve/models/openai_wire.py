"""The OpenAI wire format: bodies of requests, and replies read from decoded answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evolve.core.errors import WorldError
from evolve.core.messages import FinishReason, ModelReply, ModelRequest, Usage
from evolve.models.label_texts import Position, score_label_texts
from evolve.models.labels import likeliest, shared_beginning

OFFICIAL_URL = "https://api.openai.com/v1"
_SEEDS = 2**31
_TOP_CHAT = 20
_TOP_PLAIN = 5
_MOST_LABEL_TOKENS = 16
_FINISH: Mapping[str, FinishReason] = {"stop": "stop", "length": "length", "content_filter": "content_filter"}


def write_body(request: ModelRequest, model: str, base_url: str) -> dict[str, Any]:
    """Keyword arguments of the SDK's `create` for chat or, for a plain request, completions."""
    body: dict[str, Any] = {"model": model, "temperature": request.temperature, "seed": request.seed % _SEEDS}
    if request.stop and not request.labels:
        body["stop"] = list(request.stop)
    tokens = _label_tokens(request) if request.labels else request.max_tokens
    if request.style == "plain":
        body |= {"prompt": "\n".join(m.content for m in request.messages), "max_tokens": tokens}
        return body | _plain_extras(request)
    body["messages"] = [{"role": m.role, "content": m.content} for m in request.messages]
    # OpenAI's newer models refuse `max_tokens`; most of its imitators know nothing else.
    body["max_completion_tokens" if base_url == OFFICIAL_URL else "max_tokens"] = tokens
    return body | _chat_extras(request)


def read_answer(answer: Mapping[str, Any], request: ModelRequest) -> ModelReply:
    """The reply in a decoded answer; LookupError, TypeError, AttributeError or ValueError when it is malformed.

    WorldError when labels were to be scored and the endpoint sent no log probabilities.
    """
    choice = answer["choices"][0]
    usage = _read_usage(answer.get("usage"), request)
    if request.labels:
        if not choice.get("logprobs"):
            raise WorldError("the endpoint sent no log probabilities, so it cannot choose labels", passing=False)
        scores = score_label_texts(request.labels, _read_positions(choice["logprobs"]))
        return ModelReply(likeliest(scores), usage=usage, label_logprobs=scores)
    text = choice["text"] if request.style == "plain" else choice["message"]["content"]
    return ModelReply(text or "", usage=usage, finish_reason=_FINISH.get(choice["finish_reason"], "other"))


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


def _read_usage(usage: Mapping[str, Any] | None, request: ModelRequest) -> Usage:
    """The provider's count; without one, the most that the call can have used."""
    if usage is None:
        return Usage(prompt_tokens=request.prompt_bytes, completion_tokens=request.max_tokens)
    details = usage.get("prompt_tokens_details") or {}
    return Usage(
        prompt_tokens=usage["prompt_tokens"],
        completion_tokens=usage["completion_tokens"],
        cached_tokens=details.get("cached_tokens") or 0,
        cache_write_tokens=details.get("cache_write_tokens") or 0,
    )


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
