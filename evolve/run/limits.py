"""The limits a harness sets itself: a call and token cap around its models."""

from __future__ import annotations

from dataclasses import dataclass, field

from evolve.core.errors import HarnessFault
from evolve.core.messages import Capability, Model, ModelReply, ModelRequest


@dataclass
class RunMeter:
    """Counts one run's calls and generated tokens against the harness's own limits."""

    max_calls: int
    max_tokens: int
    calls: int = 0
    tokens: int = field(default=0)

    def start(self) -> None:
        """Counts a call; HarnessFault when the harness has used up its own."""
        if self.calls >= self.max_calls:
            raise HarnessFault(f"limit reached: max_calls {self.max_calls} of harness.yaml")
        if self.tokens >= self.max_tokens:
            raise HarnessFault(f"limit reached: max_tokens {self.max_tokens} of harness.yaml")
        self.calls += 1


class MeteredModel:
    """A model that counts against a RunMeter."""

    def __init__(self, inner: Model, meter: RunMeter) -> None:
        self._inner = inner
        self._meter = meter

    @property
    def identity(self) -> str:
        """The inner model's."""
        return self._inner.identity

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The inner model's."""
        return self._inner.capabilities

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Counts, then asks."""
        self._meter.start()
        reply = await self._inner.reply(request)
        self._meter.tokens += reply.usage.completion_tokens
        return reply

    async def close(self) -> None:
        """Nothing of its own to end."""
