"""The record of one harness on one case input."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from enum import StrEnum

from evolve.core.hashing import JSONValue
from evolve.core.messages import Usage

EXACT = Context(prec=60)
"""Sums of money without rounding; the default context would round after 28 digits."""


class RunStatus(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    HARNESS_FAULT = "harness_fault"
    """its own time-out, crash or unparsable answer: scores 0"""
    WORLD_FAULT = "world_fault"
    """provider, engine or sandbox failed: retried, then missing"""


@dataclass(frozen=True, slots=True)
class Step:
    """One visit of one workflow node. `output` may be cut for storage; then `truncated` is true."""

    node: str
    operator: str
    visit: int
    seconds: float
    output: JSONValue = None
    error: str = ""
    calls: int = 0
    usage: Usage = Usage()
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Spend:
    """What something cost. `usd` counts priced calls only; `unpriced_calls` > 0 means "at least"."""

    calls: int = 0
    usage: Usage = Usage()
    usd: Decimal = Decimal(0)
    unpriced_calls: int = 0

    def __add__(self, other: Spend) -> Spend:
        return Spend(
            self.calls + other.calls,
            self.usage + other.usage,
            EXACT.add(self.usd, other.usd),
            self.unpriced_calls + other.unpriced_calls,
        )


@dataclass(frozen=True, slots=True)
class Trace:
    """One run. `seconds` is monotonic wall time. `passing`: whether a world fault may be gone at the next attempt."""

    tree: str
    case_fingerprint: str
    repetition: int
    status: RunStatus
    output: JSONValue = None
    error: str = ""
    steps: tuple[Step, ...] = ()
    spend: Spend = Spend()
    seconds: float = 0.0
    passing: bool = True
