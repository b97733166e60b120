"""A model that is a function: deterministic, free, and fast enough to measure everything around it."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable

from evolve.core.hashing import derive_seed
from evolve.core.messages import Capability, ModelReply, ModelRequest, Usage
from evolve.models.labels import check_labels

ScriptedReply = Callable[[ModelRequest, random.Random], str | ModelReply]
"""The script. It sees the request and a generator that depends on the request and the model's seed only."""

_BYTES_PER_TOKEN = 4


class ScriptedModel:
    """Replies with `reply_fn(request, rng)` after `latency_seconds`; never fails unless the function does.

    A label request gets the function's `label_logprobs`, or, when it returns text, probabilities drawn uniformly
    from the simplex; text that is one of the labels is made the likeliest.
    """

    def __init__(self, name: str, reply_fn: ScriptedReply, latency_seconds: float = 0.0, seed: int = 0) -> None:
        self._name = name
        self._reply_fn = reply_fn
        self._latency_seconds = latency_seconds
        self._seed = seed

    @property
    def identity(self) -> str:
        """`scripted:NAME@seed:N`."""
        return f"scripted:{self._name}@seed:{self._seed}"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """All of them: what the script makes of them is its own affair."""
        return frozenset(Capability)

    async def reply(self, request: ModelRequest) -> ModelReply:
        """The script's answer, a token counted for four bytes of text. UserError for an empty label."""
        check_labels(request.labels, self.identity)
        if self._latency_seconds:
            await asyncio.sleep(self._latency_seconds)
        rng = random.Random(derive_seed(self._seed, request.request_hash))
        answer = self._reply_fn(request, rng)
        if isinstance(answer, ModelReply):
            return answer
        if request.labels:
            return _label_reply(request, answer, rng, self._latency_seconds)
        return ModelReply(answer, usage=_count_usage(request, answer), seconds=self._latency_seconds)

    async def close(self) -> None:
        """Nothing to end."""


def _label_reply(request: ModelRequest, answer: str, rng: random.Random, seconds: float) -> ModelReply:
    draws = {label: rng.expovariate(1.0) + 1e-12 for label in request.labels}
    if answer in draws:
        likeliest = max(draws, key=draws.__getitem__)
        draws[answer], draws[likeliest] = draws[likeliest], draws[answer]
    total = sum(draws.values())
    scores = {label: math.log(draw / total) for label, draw in draws.items()}
    best = max(scores, key=scores.__getitem__)
    return ModelReply(best, usage=_count_usage(request, best), label_logprobs=scores, seconds=seconds)


def _count_usage(request: ModelRequest, text: str) -> Usage:
    completion = -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_PER_TOKEN)
    return Usage(prompt_tokens=-(-request.prompt_bytes // _BYTES_PER_TOKEN), completion_tokens=completion)
