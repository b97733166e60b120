"""What a local server is asked: bodies of its routes, and how much of two prompts is the same."""

from __future__ import annotations

from typing import Any

from evolve.core.messages import ModelRequest

LARGEST_SEED = 2**32 - 1
"""The server takes seeds below this one; this one means "any"."""


def shared_prefix(a: str, b: str) -> int:
    """Characters of the common beginning, found by bisection over slices."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a.startswith(b[:middle]):
            low = middle
        else:
            high = middle - 1
    return low


def plain_prompt(request: ModelRequest) -> str:
    """The contents of the messages, one a line."""
    return "\n".join(message.content for message in request.messages)


def turns(request: ModelRequest) -> list[dict[str, str]]:
    """The messages as the chat route takes them."""
    return [{"role": message.role, "content": message.content} for message in request.messages]


def chat_body(request: ModelRequest) -> dict[str, Any]:
    """Body of `/v1/chat/completions`."""
    body = _sampling(request) | {"messages": turns(request), "max_tokens": request.max_tokens}
    if request.json_schema is not None:
        body["response_format"] = schema_format(request)
    return body


def plain_body(request: ModelRequest) -> dict[str, Any]:
    """Body of `/completion`."""
    body = _sampling(request) | {"prompt": plain_prompt(request), "n_predict": request.max_tokens}
    if request.json_schema is not None:
        body["json_schema"] = dict(request.json_schema)
    return body


def schema_format(request: ModelRequest) -> dict[str, Any]:
    """The `response_format` of a request with a schema."""
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": dict(request.json_schema or {})}}


def next_token_body(prompt: str, said: tuple[int, ...], reported: int) -> dict[str, Any]:
    """Body of `/completion` that asks for the `reported` likeliest next tokens after prompt and tokens."""
    return {
        "prompt": [prompt, *said] if said else prompt,
        "n_predict": 1,
        "n_probs": reported,
        "temperature": 0.0,
        "cache_prompt": True,
    }


def _sampling(request: ModelRequest) -> dict[str, Any]:
    return {
        "temperature": request.temperature,
        "seed": request.seed % LARGEST_SEED,
        "stop": list(request.stop),
        "cache_prompt": True,
    }
