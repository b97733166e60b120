"""Light paired comparisons on train and dev: accept a step, state an interval, shrink a chosen maximum.

Nothing here promotes: only the gate does, on sealed cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from evolve.evaluate.betting import Bettor, LowerTest
from evolve.evaluate.sequential import Outcome, PrimaryTest, Rules
from evolve.evaluate.units import PairedUnit, sealed_order


@dataclass(frozen=True, slots=True)
class PairedInterval:
    """Mean difference over complete pairs, with bounds that hold at every look, each at level alpha."""

    gain: float
    low: float
    high: float
    units: int
    missing: int


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Whether a step is kept inside a loop, the mean difference over complete pairs, and why."""

    accepted: bool
    gain: float
    log_e: float
    wins: int
    losses: int
    units: int
    missing: int
    reason: str


class PairedAcceptance:
    """The gate's primary test at a loop's own level, read in batches until `decided`.

    A step that is no better is accepted with probability at most `alpha`, missing pairs counted against it. Units are
    read in the order given, which must not depend on their results; those offered after the decision are not read.
    """

    def __init__(self, alpha: float, horizon: int, *, min_units: int = 1, discordance: float = 0.3) -> None:
        self._test = PrimaryTest(Rules(alpha, horizon, min_units=min_units, discordance=discordance))
        self._read: list[PairedUnit] = []

    @property
    def decided(self) -> bool:
        """Whether another unit could not change the outcome, or is not worth its runs."""
        return bool(self._test.outcome[0] != Outcome.OPEN)

    def observe_many(self, units: Iterable[PairedUnit]) -> None:
        """Reads units until decided."""
        for unit in units:
            if self.decided:
                return
            self._test.observe(np.array([unit.reading.worst]), np.array([unit.reading.best]))
            self._read.append(unit)

    def outcome(self) -> Acceptance:
        """What was decided so far; nothing is accepted before it is shown."""
        complete = _differences(self._read)
        wins, losses = sum(d > 0 for d in complete), sum(d < 0 for d in complete)
        counts = f"won {wins}, lost {losses} of {len(self._read)} units"
        return Acceptance(
            accepted=bool(self._test.outcome[0] == Outcome.PROVEN),
            gain=_mean(complete),
            log_e=float(self._test.gain.log_e[0]),
            wins=wins,
            losses=losses,
            units=len(self._read),
            missing=len(self._read) - len(complete),
            reason=f"{counts}: {_WORDS[Outcome(int(self._test.outcome[0]))]}",
        )


_WORDS = {
    Outcome.OPEN: "no decision yet",
    Outcome.PROVEN: "better",
    Outcome.REFUTED: "worse",
    Outcome.FUTILE: "stopped early, the rest is unlikely to show a gain",
    Outcome.EXHAUSTED: "no gain shown",
}


def paired_acceptance(units: Sequence[PairedUnit], alpha: float, *, discordance: float = 0.3) -> Acceptance:
    """The same test over units that are all there, in a fixed order of their ids; no units, no acceptance."""
    test = PairedAcceptance(alpha, max(len(units), 1), discordance=discordance)
    test.observe_many(_ordered(units))
    return test.outcome()


def lower_bound(differences: Sequence[float], alpha: float) -> float:
    """A lower bound, at level `alpha`, of the mean of differences in [-1, 1] that come in an order fixed beforehand."""
    test = LowerTest(Bettor(alpha, max(len(differences), 1)))
    for difference in differences:
        test.observe(difference)
    return test.bound()


def paired_interval(units: Sequence[PairedUnit], alpha: float, *, discordance: float = 0.3) -> PairedInterval:
    """Bounds of the mean difference, each at level `alpha`; missing pairs widen them both ways."""
    bettor = Bettor(alpha, max(len(units), 1), discordance)
    low, high = LowerTest(bettor), LowerTest(bettor)
    for unit in _ordered(units):
        low.observe(unit.reading.worst)
        high.observe(-unit.reading.best)
    complete = _differences(units)
    return PairedInterval(_mean(complete), low.bound(), -high.bound(), len(units), len(units) - len(complete))


def shrunken_gains(gains: Sequence[float], variances: Sequence[float]) -> tuple[float, ...]:
    """Empirical-Bayes gains against the winner's curse: each is pulled to 0 by how much of the spread is noise.

    Normal model with prior mean 0 (a step does nothing) and prior variance max(0, mean(gain^2 - variance)), positive
    part (B. Efron and C. Morris 1975, "Data analysis using Stein's estimator and its generalizations"). `variances` are
    squared standard errors of `gains`.
    """
    if not gains:
        return ()
    spread = max(0.0, sum(g * g - v for g, v in zip(gains, variances, strict=True)) / len(gains))
    return tuple(g * spread / (spread + v) if spread + v > 0 else g for g, v in zip(gains, variances, strict=True))


def gain_variance(units: Sequence[PairedUnit]) -> float:
    """Squared standard error of the mean difference over complete pairs; 1 (nothing is known) for fewer than two."""
    complete = _differences(units)
    if len(complete) < 2:
        return 1.0
    mean = sum(complete) / len(complete)
    return sum((d - mean) ** 2 for d in complete) / (len(complete) - 1) / len(complete)


def _differences(units: Sequence[PairedUnit]) -> list[float]:
    return [u.difference for u in units if u.difference is not None]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _ordered(units: Sequence[PairedUnit]) -> list[PairedUnit]:
    by_id = {unit.id: unit for unit in units}
    return [by_id[unit] for unit in sealed_order(by_id, "compare")]
