"""What the gate saw and decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Decision3 = Literal["promote", "reject", "indecisive"]


@dataclass(frozen=True, slots=True)
class GuardOutcome:
    """One non-inferiority guard. `low`/`high` bound the mean difference at the guard's level; margin > 0.

    `state`: `passed` (low > −margin), `harmed` (high < −margin), `open` (neither; `indecisive` if it stays so),
    `off` (could not run: `reason` says why and every report repeats it).
    """

    name: str
    mode: Literal["non_inferiority", "harm_only"]
    margin: float
    low: float | None
    high: float | None
    units: int
    state: Literal["passed", "harmed", "open", "off"]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The sealed test of one challenger against one baseline.

    `gain`, `gain_low`, `gain_high` are mean paired differences over units in [-1, 1]; the bounds are one-sided
    confidence sequences, each at level `alpha`. `wins`, `losses`, `ties` count units looked at. `looked` of `horizon`
    units were read in the sealed order; `cases_looked_at` of `cases` cases stand behind them. `needed` estimates how
    many units would decide at the observed gain (None when unknown or not needed).
    """

    decision: Decision3
    reason: str
    baseline: str
    challenger: str
    alpha: float
    gain: float
    gain_low: float
    gain_high: float
    wins: int
    losses: int
    ties: int
    missing: int
    looked: int
    horizon: int
    cases_looked_at: int
    cases: int
    baseline_mean: float
    challenger_mean: float
    log_e: float
    needed: int | None = None
    guards: tuple[GuardOutcome, ...] = ()
    notes: tuple[str, ...] = ()
    """protections that were off, prices that were unknown: printed with the verdict, always"""
    extra: Mapping[str, Any] = field(default_factory=dict)
