"""What goes to a model and what comes back, whatever the provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol

from evolve.core.hashing import JSONValue, content_hash

Role = Literal["system", "user", "assistant"]


class Capability(StrEnum):
    """What a model can do beyond chat."""

    PLAIN = "plain"
    """raw text completion without a chat template"""
    JSON_SCHEMA = "json_schema"
    """output constrained by a JSON schema"""
    LABELS = "labels"
    """log probabilities over given labels"""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call or a sum of calls. `cached_tokens` and `cache_write_tokens` are parts of `prompt_tokens`."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )

    @property
    def total_tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call.

    `style="plain"` sends the message contents joined by newlines to a completion endpoint, no template (needs
    Capability.PLAIN). `json_schema` constrains the reply (Capability.JSON_SCHEMA). `labels` asks for the log
    probability of each label's first token as the next token instead of text (Capability.LABELS). `step` says which
    step of a run is asking; it names the call in the books and is not part of the request hash.
    """

    messages: tuple[Message, ...]
    max_tokens: int = 256
    temperature: float = 0.0
    seed: int = 0
    stop: tuple[str, ...] = ()
    style: Literal["chat", "plain"] = "chat"
    json_schema: Mapping[str, JSONValue] | None = None
    labels: tuple[str, ...] = ()
    step: str = ""

    @property
    def request_hash(self) -> str:
        """Hash of everything that can change the reply."""
        return content_hash(
            {
                "messages": [[m.role, m.content] for m in self.messages],
                "max_tokens": self.max_tokens,
                "temperature": self.temperature,
                "seed": self.seed,
                "stop": list(self.stop),
                "style": self.style,
                "json_schema": dict(self.json_schema) if self.json_schema is not None else None,
                "labels": list(self.labels),
            }
        )

    @property
    def prompt_bytes(self) -> int:
        """An upper bound of the prompt's tokens that needs no tokenizer: bytes, plus 8 for each turn's markup."""
        return sum(len(m.content.encode("utf-8", "surrogatepass")) + 8 for m in self.messages)


FinishReason = Literal["stop", "length", "content_filter", "other"]


@dataclass(frozen=True, slots=True)
class ModelReply:
    """`label_logprobs` holds one natural-log probability for each asked label (a floor where it was not reported)."""

    text: str
    usage: Usage = Usage()
    finish_reason: FinishReason = "stop"
    label_logprobs: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0


class Model(Protocol):
    """A provider, or a wrapper around one (books, retry) with the same face."""

    @property
    def identity(self) -> str:
        """Provider, model and weights or endpoint, e.g. `local:smollm2-135m@sha256:1a2b…`; part of every result key."""
        ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What `reply` supports beyond chat."""
        ...

    async def reply(self, request: ModelRequest) -> ModelReply:
        """One answer. Raises WorldError (provider failed), UserError (a request it can never serve), BudgetExceeded."""
        ...

    async def close(self) -> None:
        """Ends processes and connections; safe to call twice."""
        ...
