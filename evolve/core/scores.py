"""Scores: a number in [0, 1] with a reason, or ungraded with a reason. Nothing else ever reaches a comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from evolve.core.hashing import JSONValue
from evolve.core.traces import RunStatus


@dataclass(frozen=True, slots=True)
class Score:
    """`value` is None when ungraded. Build with `graded`, `ungraded` or `from_raw`."""

    value: float | None
    reason: str = ""

    @classmethod
    def graded(cls, value: float, reason: str = "") -> Score:
        """A checked score; ValueError outside [0, 1] or not finite."""
        if isinstance(value, bool) or not math.isfinite(value) or not 0.0 <= value <= 1.0:
            raise ValueError(f"a score is a finite number in [0, 1], not {value!r}")
        return cls(float(value), reason)

    @classmethod
    def ungraded(cls, reason: str) -> Score:
        """The scorer could not tell."""
        return cls(None, reason)

    @classmethod
    def from_raw(cls, raw: Any, reason: str = "") -> Score:
        """What a scorer returned: a plain int or float in [0, 1] is graded; all else (bool, text, NaN, None) is not."""
        if isinstance(raw, bool) or not isinstance(raw, int | float):
            return cls.ungraded(f"the scorer returned {raw!r}, not a number in [0, 1]")
        if not (math.isfinite(raw) and 0 <= raw <= 1):
            return cls.ungraded(f"the scorer returned {raw!r}, outside [0, 1]")
        return cls(float(raw), reason)


@dataclass(frozen=True, slots=True)
class Asked:
    """The run that an output came from, for scorers that must know the question or have costs of their own."""

    input: JSONValue
    tree: str
    case: str
    repetition: int
    loop: str


@dataclass(frozen=True, slots=True)
class Result:
    """What one tree did on one case once: run status, score and costs, without the trace."""

    case_id: str
    repetition: int
    status: RunStatus
    score: Score
    usd: Decimal = Decimal(0)
    unpriced_calls: int = 0
    tokens: int = 0
    calls: int = 0
    seconds: float = 0.0

    @property
    def value(self) -> float | None:
        """The number to compare: 0 for a harness fault, None (missing) for a world fault or an ungraded answer."""
        if self.status is RunStatus.HARNESS_FAULT:
            return 0.0
        if self.status is RunStatus.WORLD_FAULT:
            return None
        return self.score.value


@dataclass(frozen=True)
class Scorecard:
    """Results of one tree by (case id, repetition)."""

    tree: str
    results: Mapping[tuple[str, int], Result]

    @cached_property
    def by_case(self) -> Mapping[str, tuple[Result, ...]]:
        """The results of each case, by repetition."""
        grouped: dict[str, list[Result]] = {}
        for (case_id, _), result in sorted(self.results.items()):
            grouped.setdefault(case_id, []).append(result)
        return {case_id: tuple(rows) for case_id, rows in grouped.items()}

    def case_mean(self, case_id: str) -> float | None:
        """Mean over the repetitions of a case; None when any of them is missing or the case is not here."""
        values = [r.value for r in self.by_case.get(case_id, ())]
        present = [v for v in values if v is not None]
        return sum(present) / len(present) if present and len(present) == len(values) else None

    def mean(self) -> float | None:
        """Mean over all present results, None when there is none."""
        present = [r.value for r in self.results.values() if r.value is not None]
        return sum(present) / len(present) if present else None

    @property
    def missing(self) -> int:
        """How many results carry no number."""
        return sum(1 for r in self.results.values() if r.value is None)
