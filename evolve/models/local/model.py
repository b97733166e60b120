"""The local model: requests in, replies out, over a few single-slot servers."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from functools import cached_property

from evolve.core.hashing import content_hash
from evolve.core.messages import Capability, ModelReply, ModelRequest, Usage
from evolve.models.labels import Spelling, check_labels, likeliest, score_labels
from evolve.models.local.calls import Line, read_chat, read_plain, read_plain_usage
from evolve.models.local.dispatch import Dispatch
from evolve.models.local.prompts import chat_body, next_token_body, plain_body, plain_prompt, schema_format, turns
from evolve.models.local.weights import hash_weights
from evolve.models.local.worker import Worker, WorkerPlan
from evolve.models.needs import refuse_unable

_REPORTED_TOKENS = 400
_CHAT = "/v1/chat/completions"
_COMPLETION = "/completion"


class LocalModel:
    """`workers` servers for one GGUF file; each starts when a call first needs it.

    `timeout_seconds` bounds each question to a server, from when its worker is free. At temperature 0 a reply is the
    same every time, but for the last bits of its probabilities, which depend on what the worker had cached.
    """

    def __init__(self, plan: WorkerPlan, *, workers: int = 2, timeout_seconds: float = 120.0) -> None:
        self._plan = plan
        self._timeout_seconds = timeout_seconds
        self._workers = tuple(Worker(plan) for _ in range(workers))
        self._dispatch = Dispatch(self._workers)
        self._tokens: dict[str, tuple[int, ...]] = {}
        self._sound_schemas: set[str] = set()

    @cached_property
    def identity(self) -> str:
        """`local:NAME@sha256:` and 16 digits of the hash of the weights."""
        return f"{self._plan.name}@sha256:{hash_weights(self._plan.weights)}"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """All but native tool calls, which its server does not enforce."""
        return frozenset(Capability) - {Capability.TOOLS}

    @property
    def workers(self) -> tuple[Worker, ...]:
        """The child processes, started or not."""
        return self._workers

    async def reply(self, request: ModelRequest) -> ModelReply:
        """One answer. Raises WorldError, PromptTooLong for a prompt over the context, UserError for an empty label."""
        check_labels(request.labels, self._plan.name)
        refuse_unable(self, request)
        async with self._dispatch.borrow(plain_prompt(request)) as worker:
            started = time.monotonic()
            line = Line(worker, self._plan.name, self._timeout_seconds)
            reply = await self._ask(line, request)
        return dataclasses.replace(reply, seconds=time.monotonic() - started)

    async def close(self) -> None:
        """Ends the child processes."""
        for worker in self._workers:
            await worker.close()

    async def _ask(self, line: Line, request: ModelRequest) -> ModelReply:
        if request.labels:
            return await self._choose_label(line, request)
        if request.style == "chat":
            return read_chat(await line.post(_CHAT, chat_body(request)))
        if request.json_schema is not None:
            await self._check_schema(line, request)
        return read_plain(await line.post(_COMPLETION, plain_body(request)))

    async def _check_schema(self, line: Line, request: ModelRequest) -> None:
        """Lets the chat route judge a schema once: the completion route drops one that it cannot read, silently."""
        digest = content_hash(dict(request.json_schema or {}))
        if digest not in self._sound_schemas:
            messages = [{"role": "user", "content": ""}]
            probe = {"messages": messages, "max_tokens": 1, "response_format": schema_format(request)}
            await line.post(_CHAT, probe)
            self._sound_schemas.add(digest)

    async def _choose_label(self, line: Line, request: ModelRequest) -> ModelReply:
        prompt = plain_prompt(request)
        if request.style == "chat":
            prompt = (await line.post("/apply-template", {"messages": turns(request)}))["prompt"]
        usages: list[Usage] = []

        async def ask_next(said: tuple[int, ...]) -> Mapping[int, float]:
            answer = await line.post(_COMPLETION, next_token_body(prompt, said, _REPORTED_TOKENS))
            usages.append(read_plain_usage(answer))
            reported = answer["completion_probabilities"][0]["top_logprobs"]
            return {token["id"]: token["logprob"] for token in reported}

        scores = await score_labels(await self._spell(line, request.labels), ask_next)
        return ModelReply(likeliest(scores), usage=_count_questions(usages), label_logprobs=scores)

    async def _spell(self, line: Line, labels: tuple[str, ...]) -> list[Spelling]:
        """Each label as it would continue a prompt: with and without a leading space."""
        spellings = []
        for label in dict.fromkeys(labels):
            for text in (label, f" {label}"):
                if text not in self._tokens:
                    answer = await line.post("/tokenize", {"content": text, "add_special": False})
                    self._tokens[text] = tuple(answer["tokens"])
                spellings.append(Spelling(label, self._tokens[text]))
        return spellings


def _count_questions(usages: list[Usage]) -> Usage:
    """One prompt, which all questions after the first find cached, and one completion token for each question."""
    return dataclasses.replace(usages[0], completion_tokens=sum(usage.completion_tokens for usage in usages))
