"""The `model` part of a configuration: which provider and model, and how hard to lean on it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

_USUAL_SECONDS = 120.0
_MAILBOX_SECONDS = 3600.0
"""A person or a batch job may take an hour."""


class ModelSettings(BaseModel):
    """One model. `model` is `provider:name`, e.g. `local:smollm2-135m`, `openai:gpt-4o-mini`, `scripted:NAME`.

    Fields that a provider has no use for are refused by `open_model` when they are set.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(min_length=1)
    base_url: str | None = Field(default=None, description="openai: a compatible endpoint, up to /v1; anthropic")
    api_key_env: str | None = Field(default=None, description="openai, anthropic: the variable that holds the key")
    api: Literal["chat", "responses"] = Field(default="chat", description="openai only: which of its two forms is used")
    send_sampling: bool = Field(default=True, description="false for models that refuse temperature and seed")
    cache_prompt: bool = Field(default=False, description="anthropic only: mark system prompt and tools as cacheable")
    workers: int = Field(default=2, ge=1, le=64, description="local only: child processes, one thread each")
    context_tokens: int = Field(default=4096, ge=256, le=131_072, description="local only: prompt and reply together")
    timeout_seconds: float | None = Field(
        default=None, gt=0, description="one call of a provider, without retries: 120 when left out, 3600 for a mailbox"
    )
    concurrency: int = Field(
        default=16, ge=1, le=1024, description="openai, anthropic, mailbox: the most calls in flight"
    )
    adaptive: bool = Field(default=True, description="openai and anthropic only: false holds concurrency fixed")
    max_retries: int = Field(default=4, ge=0, le=20, description="after a passing fault; not for scripted")
    seed: int = Field(default=0, description="scripted only")
    mailbox_requests: int = Field(default=200, ge=1, description="mailbox only: the most requests of one campaign")

    @property
    def provider(self) -> str:
        """What stands before the first colon; empty without one."""
        head, colon, _ = self.model.partition(":")
        return head if colon else ""

    @property
    def lanes(self) -> int:
        """Calls that can be answered at the same time."""
        return self.workers if self.provider == "local" else self.concurrency

    @property
    def seconds(self) -> float:
        """How long one call may take: `timeout_seconds`, or what is usual for the provider."""
        usual = _MAILBOX_SECONDS if self.provider == "mailbox" else _USUAL_SECONDS
        return usual if self.timeout_seconds is None else self.timeout_seconds

    @property
    def name(self) -> str:
        """What stands after the first colon."""
        return self.model.partition(":")[2]
