"""One call of a local server: sent to a borrowed worker, its refusals told apart, its answer read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evolve.core.errors import WorldError
from evolve.core.messages import FinishReason, ModelReply, Usage
from evolve.models.errors import PromptTooLong
from evolve.models.local.worker import Worker

_OK = 200
_SERVER_FAULT = 500
_LIMITS = frozenset({"limit", "length"})


@dataclass(frozen=True, slots=True)
class Line:
    """A worker that is ours for one request; `timeout` is in seconds and for each question to the server."""

    worker: Worker
    name: str
    timeout: float

    async def post(self, route: str, body: Mapping[str, Any]) -> Any:
        """The decoded answer. Raises PromptTooLong, or WorldError (passing for a fault of the server)."""
        status, answer = await self.worker.call(route, dict(body), self.timeout)
        if status == _OK:
            return answer
        error = answer.get("error", {}) if isinstance(answer, dict) else {}
        message = str(error.get("message", "no reason given"))
        if error.get("type") == "exceed_context_size_error":
            raise PromptTooLong(self.name, f"{error['n_prompt_tokens']} tokens of {error['n_ctx']}")
        raise WorldError(f"{self.name}: refused ({status}): {message}", passing=status >= _SERVER_FAULT)


def read_chat(answer: Any) -> ModelReply:
    """A reply from an answer of `/v1/chat/completions`."""
    choice, usage = answer["choices"][0], answer["usage"]
    return ModelReply(
        text=choice["message"].get("content") or "",
        usage=Usage(
            prompt_tokens=usage["prompt_tokens"],
            completion_tokens=usage["completion_tokens"],
            cached_tokens=usage["prompt_tokens_details"]["cached_tokens"],
        ),
        finish_reason=_read_finish(choice["finish_reason"]),
    )


def read_plain(answer: Any) -> ModelReply:
    """A reply from an answer of `/completion`."""
    return ModelReply(
        text=answer["content"], usage=read_plain_usage(answer), finish_reason=_read_finish(answer["stop_type"])
    )


def read_plain_usage(answer: Any) -> Usage:
    """Tokens of an answer of `/completion`, whose prompt count includes the cached ones."""
    return Usage(
        prompt_tokens=answer["tokens_evaluated"],
        completion_tokens=answer["tokens_predicted"],
        cached_tokens=max(0, answer.get("timings", {}).get("cache_n", 0)),
    )


def _read_finish(reason: str) -> FinishReason:
    return "length" if reason in _LIMITS else "stop"
