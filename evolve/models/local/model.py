"""The local model: requests in, replies out, over a few single-slot servers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from evolve.core.errors import UserError, WorldError
from evolve.core.hashing import content_hash
from evolve.core.messages import Capability, FinishReason, ModelReply, ModelRequest, Usage
from evolve.models.errors import PromptTooLong
from evolve.models.labels import Spelling, likeliest, score_labels
from evolve.models.local.dispatch import Dispatch
from evolve.models.local.prompts import (
    chat_body,
    next_token_body,
    plain_body,
    plain_prompt,
    schema_format,
    turns,
)
from evolve.models.local.weights import check_runtime, find_weights, hash_weights
from evolve.models.local.worker import Worker, WorkerPlan
from evolve.models.settings import ModelSettings

_REPORTED_TOKENS = 400
_HTTP_OK = 200
_HTTP_BAD_REQUEST = 400
_FINISH: Mapping[str, FinishReason] = {"stop": "stop", "eos": "stop", "word": "stop", "limit": "length", "length": "length"}


class LocalModel:
    """`workers` servers for one GGUF file; each starts when a call first needs it.

    One call may take `timeout_seconds` after its worker is free. At temperature 0 a reply depends on the request, and
    in the last bits of its probabilities on what the worker had cached.
    """

    def __init__(self, plan: WorkerPlan, *, workers: int = 2, timeout_seconds: float = 120.0) -> None:
        self._plan = plan
        self._timeout_seconds = timeout_seconds
        self._workers = tuple(Worker(plan) for _ in range(workers))
        self._dispatch = Dispatch(self._workers)
        self._tokens: dict[str, tuple[int, ...]] = {}
        self._checked_schemas: set[str] = set()

    @cached_property
    def identity(self) -> str:
        """`local:NAME@sha256:` and 16 digits of the hash of the weights."""
        return f"{self._plan.name}@sha256:{hash_weights(self._plan.weights)}"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """All of them."""
        return frozenset(Capability)

    @property
    def workers(self) -> tuple[Worker, ...]:
        """The child processes, started or not."""
        return self._workers

    async def reply(self, request: ModelRequest) -> ModelReply:
        """One answer. Raises WorldError, PromptTooLong for a prompt over the context, UserError for an empty label."""
        if "" in request.labels:
            raise UserError("a label must not be empty", place=self._plan.name)
        prompt = plain_prompt(request)
        async with self._dispatch.borrow(prompt) as worker:
            started = time.monotonic()
            call = _Call(self, worker)
            if request.labels:
                answer = await self._choose_label(call, request, prompt)
            elif request.style == "plain":
                answer = await self._complete(call, request)
            else:
                answer = _read_chat(await call.post("/v1/chat/completions", chat_body(request)))
        return ModelReply(
            text=answer.text,
            usage=answer.usage,
            finish_reason=answer.finish_reason,
            label_logprobs=answer.label_logprobs,
            seconds=time.monotonic() - started,
        )

    async def close(self) -> None:
        """Ends the child processes."""
        for worker in self._workers:
            await worker.close()
