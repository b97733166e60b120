"""A routing decision and everything that explains it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """Which rule decided."""

    BEST_SINGLE = "best_single"
    MATCHER = "matcher"
    MARGIN = "abstained: margin within uncertainty"
    FAR = "abstained: far from everything seen"
    EMPTY = "abstained: the query is empty"


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one member is expected to score, how sure that is, and its dollars; None where nothing is known."""

    member: str
    score: float | None
    sd: float | None
    cost: float | None


@dataclass(frozen=True, slots=True)
class KnownCase:
    """A known query near the asked one."""

    case_id: str
    text: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Decision:
    """Who serves a query and why.

    `margin` is the predicted advantage over the default that was weighed (score units, cost included when it has a
    weight) and `margin_sd` its standard deviation, both None when no prediction was consulted. `fallbacks` is the
    order to try when the chosen member fails.
    """

    member: str
    rule: Rule
    reason: str
    estimates: tuple[Estimate, ...]
    margin: float | None
    margin_sd: float | None
    nearest: tuple[KnownCase, ...]
    fallbacks: tuple[str, ...]
