"""Model calls as rows: how a call starts, how it ends, and what it counts for."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from evolve.core.messages import Usage
from evolve.core.traces import Spend

CallState = Literal["in_flight", "finished", "failed", "abandoned"]
"""in_flight: never ended, perhaps killed; failed: released; abandoned: cancelled in flight, charged at its bound."""


@dataclass(frozen=True, slots=True)
class CallStart:
    """What is durable before a call is sent. `request` is packed JSON, None where the journal keeps no bodies."""

    id: str
    key: str
    campaign: str
    loop: str
    candidate: str
    case: str
    repetition: int
    role: str
    step: str
    model: str
    request_hash: str
    request: bytes | None
    reserved_usd: Decimal | None
    reserved_prompt_tokens: int
    reserved_completion_tokens: int


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How a call ended. `usd` None means unpriced; `note` says when a figure is a bound and not a bill."""

    id: str
    state: CallState
    usage: Usage = field(default_factory=Usage)
    usd: Decimal | None = Decimal(0)
    reply: bytes | None = None
    reply_hash: str = ""
    seconds: float = 0.0
    note: str = ""

    @property
    def spend(self) -> Spend:
        """What the call counts for."""
        return Spend() if self.state == "failed" else _one_call(self.usage, self.usd)


@dataclass(frozen=True, slots=True)
class CallRow:
    """A call as reports see it, without its bodies."""

    id: str
    created_at: str
    key: str
    campaign: str
    loop: str
    candidate: str
    case: str
    repetition: int
    role: str
    step: str
    model: str
    request_hash: str
    reserved_usd: Decimal | None
    reserved_usage: Usage
    state: CallState
    ended_at: str | None
    usage: Usage
    usd: Decimal | None
    seconds: float
    note: str
    has_reply: bool

    @property
    def spend(self) -> Spend:
        """What the call counts for: its bill, its reservation while nobody knows better, nothing when it failed."""
        if self.state == "failed":
            return Spend()
        if self.state == "in_flight":
            return _one_call(self.reserved_usage, self.reserved_usd)
        return _one_call(self.usage, self.usd)


def _one_call(usage: Usage, usd: Decimal | None) -> Spend:
    return Spend(1, usage, Decimal(0) if usd is None else usd, int(usd is None))
