"""What goes to a model and what comes back, whatever the provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol

from evolve.core.hashing import JSONValue, canonical_json, content_hash

Role = Literal["system", "user", "assistant", "tool"]


class Capability(StrEnum):
    """What a model can do beyond chat."""

    PLAIN = "plain"
    """raw text completion without a chat template"""
    JSON_SCHEMA = "json_schema"
    """output constrained by a JSON schema"""
    LABELS = "labels"
    """log probabilities over given labels"""
    TOOLS = "tools"
    """native tool calls"""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that a model may call. `parameters` is the JSON schema of its arguments, an object."""

    name: str
    description: str
    parameters: Mapping[str, JSONValue]

    @property
    def document(self) -> dict[str, JSONValue]:
        """As JSON."""
        return {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model asked for. `arguments` is the JSON text as the model wrote it, sound or not."""

    id: str
    name: str
    arguments: str

    @property
    def document(self) -> list[JSONValue]:
        """As JSON: id, name, arguments."""
        return [self.id, self.name, self.arguments]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. An assistant's turn may carry `tool_calls`; a `tool` turn answers the call `tool_call_id`."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""

    @property
    def document(self) -> list[JSONValue]:
        """As JSON: role and content, and what belongs to tools only where there is some."""
        if not self.tool_calls and not self.tool_call_id:
            return [self.role, self.content]
        return [self.role, self.content, [call.document for call in self.tool_calls], self.tool_call_id]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call or a sum of calls.

    `cached_tokens` and `cache_write_tokens` are parts of `prompt_tokens`; `cache_write_1h_tokens` is the part of
    `cache_write_tokens` that is kept for an hour, which some providers price apart.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.cache_write_1h_tokens + other.cache_write_1h_tokens,
        )

    @property
    def total_tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens


OnText = Callable[[str], None]
"""Told each piece of a reply's text as it arrives; must return quickly and must not raise."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call.

    `style="plain"` sends the message contents joined by newlines to a completion endpoint, no template (needs
    Capability.PLAIN). `json_schema` constrains the reply (Capability.JSON_SCHEMA). `labels` asks for the log
    probability of each label's first token as the next token instead of text (Capability.LABELS). `tools` may be called
    (Capability.TOOLS) as `tool_choice` says: `auto`, `none`, `required`, or the name of the one that must be.

    `step` says which step of a run is asking; it names the call in the books. `on_text` follows the reply as it is
    written, where the provider can stream. `call` is the books' key of this one call: it tells equal requests apart and
    stays the same over a resume. None of the three is part of the request hash.
    """

    messages: tuple[Message, ...]
    max_tokens: int = 256
    temperature: float = 0.0
    seed: int = 0
    stop: tuple[str, ...] = ()
    style: Literal["chat", "plain"] = "chat"
    json_schema: Mapping[str, JSONValue] | None = None
    labels: tuple[str, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str = "auto"
    step: str = ""
    call: str = field(default="", compare=False, repr=False)
    on_text: OnText | None = field(default=None, compare=False, repr=False)

    @property
    def document(self) -> dict[str, JSONValue]:
        """Everything that can change the reply, as JSON."""
        document: dict[str, JSONValue] = {
            "messages": [m.document for m in self.messages],
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "seed": self.seed,
            "stop": list(self.stop),
            "style": self.style,
            "json_schema": dict(self.json_schema) if self.json_schema is not None else None,
            "labels": list(self.labels),
        }
        if self.tools:
            document |= {"tools": [tool.document for tool in self.tools], "tool_choice": self.tool_choice}
        return document

    @property
    def request_hash(self) -> str:
        """Hash of everything that can change the reply."""
        return content_hash(self.document)

    @property
    def prompt_bytes(self) -> int:
        """An upper bound of the prompt's tokens that needs no tokenizer: bytes, plus 8 for each turn's markup."""
        turns = sum(len(m.content.encode("utf-8", "surrogatepass")) + 8 for m in self.messages)
        calls = sum(len(canonical_json(m.document[2])) for m in self.messages if m.tool_calls)
        return turns + calls + sum(len(canonical_json(tool.document)) for tool in self.tools)


FinishReason = Literal["stop", "length", "content_filter", "tool_calls", "other"]


@dataclass(frozen=True, slots=True)
class ModelReply:
    """`label_logprobs` holds one natural-log probability for each asked label (a floor where it was not reported).

    `raw_usage` is the provider's own account of the call, as it was sent, for later reconciliation.
    """

    text: str
    usage: Usage = Usage()
    finish_reason: FinishReason = "stop"
    label_logprobs: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    tool_calls: tuple[ToolCall, ...] = ()
    raw_usage: Mapping[str, JSONValue] = field(default_factory=dict)


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
