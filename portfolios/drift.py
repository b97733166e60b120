"""Drift: whether queries have become unlike the known cases, told by a test that may be looked at after every query."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from portfolios.decision import Rule

STRANGE = frozenset({Rule.FAR, Rule.EMPTY})
"""The rules that say a query is unlike every known case."""
MEASURES = 3
"""Similarity, length and words: each may find its share of the known queries strange."""
LEAST_EXPECTED = 0.05
LEVEL = 0.01
_RECENT = 200
_BETS = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True)
class Routed:
    """What is kept of one routed query: never its text. `member` answered; `failed` members failed before it."""

    member: str
    rule: str
    failed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Traffic:
    """The queries of one version in words and numbers; shares lie in [0, 1].

    `evidence` is the wealth of a bettor against "at most `expected` of the queries are strange": were that so, it would
    ever reach 1 / LEVEL with a chance of at most LEVEL (Ville 1939). It looks at the latest 200 queries.
    """

    queries: int
    shares: dict[str, float]
    rules: dict[str, float]
    strange: float
    expected: float
    failures: dict[str, int]
    evidence: float

    @property
    def alarm(self) -> bool:
        """Whether more queries are strange than chance explains."""
        return self.evidence >= 1.0 / LEVEL

    def words(self) -> list[str]:
        """Lines for people."""
        if not self.queries:
            return ["traffic: no query was routed through this version yet"]
        shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in self.shares.items())
        lines = [f"traffic: {self.queries} queries: {shares}"]
        lines += [f"  {name} failed {count} times and was replaced" for name, count in self.failures.items()]
        far = f"{100 * self.strange:.0f} % are unlike every known case (expected: at most {100 * self.expected:.0f} %)"
        if self.alarm:
            fix = "measure such queries (evolve data renew) and run a campaign; until then the default answers them"
            return [*lines, f"  DRIFT: {far}. {fix}."]
        return [*lines, f"  {far}: no drift"]


def read_traffic(routed: Sequence[Routed], far_quantile: float) -> Traffic:
    """From all queries of a version in the order they came."""
    expected = max(LEAST_EXPECTED, MEASURES * far_quantile)
    recent = [query.rule in STRANGE for query in routed[-_RECENT:]]
    failures = Counter(name for query in routed for name in query.failed)
    return Traffic(
        queries=len(routed),
        shares=_shares([query.member for query in routed]),
        rules=_shares([query.rule for query in routed]),
        strange=sum(recent) / len(recent) if recent else 0.0,
        expected=expected,
        failures=dict(failures.most_common()),
        evidence=betting_wealth(recent, expected),
    )


def betting_wealth(strange: Sequence[bool], expected: float) -> float:
    """The mean wealth of three bettors who each stake a fixed share of what is safe on "more than `expected`"."""
    wealth = [_wealth(strange, expected, bet / expected) for bet in _BETS]
    return sum(wealth) / len(wealth)


def _wealth(strange: Sequence[bool], expected: float, stake: float) -> float:
    log = sum(math.log(1.0 + stake * (seen - expected)) for seen in strange)
    return math.exp(min(log, 700.0))


def _shares(names: Sequence[str]) -> dict[str, float]:
    """Most frequent first; ties by name."""
    ranked = sorted(Counter(names).items(), key=lambda item: (-item[1], item[0]))
    return {name: count / len(names) for name, count in ranked}
