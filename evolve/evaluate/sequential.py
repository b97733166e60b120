"""The primary test of the gate, for one or many campaigns at once: promote, reject, stop as futile, or go on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from evolve.evaluate.betting import Array, Bettor, EProcess, touch_distance

FUTILE_BELOW = 0.005
"""Stop when the predictive probability of a promotion by the horizon is below this."""
FUTILITY_FROM = 10
"""No futility before this many units: a mean of fewer says too little."""
REFUTE_WITHIN = 2.0
"""A hopeless test goes on when, at the pace so far, at most this many times the units seen would bring a reject."""


class Outcome(IntEnum):
    """Where a campaign stands; everything but OPEN is final."""

    OPEN = 0
    PROVEN = 1
    REFUTED = 2
    FUTILE = 3
    EXHAUSTED = 4


@dataclass(frozen=True)
class Rules:
    """What is fixed before the first unit is opened.

    `alpha` is the error of a false promotion, and separately of a false reject. `min_gain` is the smallest *useful*
    gain: a challenger whose gain is shown to be below it is rejected; it is not the null of promotion, which is 0.
    `discordance` is the assumed mean square of a difference (the share of cases won or lost when scores are 0 or 1): it
    shapes the stakes of the first units and never the validity.
    """

    alpha: float
    horizon: int
    min_units: int = 8
    min_gain: float = 0.0
    discordance: float = 0.3

    def __post_init__(self) -> None:
        """Refuses what no test could mean; ValueError names the field and its range."""
        if not 0.0 < self.alpha < 1.0:
            raise ValueError(f"alpha is between 0 and 1, not {self.alpha}")
        if self.horizon < 1 or self.min_units < 0:
            raise ValueError(f"horizon is at least 1 and min_units at least 0, not {self.horizon} and {self.min_units}")
        if not 0.0 <= self.min_gain < 1.0:
            raise ValueError(f"min_gain is at least 0 and below 1, not {self.min_gain}")
        if not 0.0 < self.discordance <= 1.0:
            raise ValueError(f"discordance is above 0 and at most 1, not {self.discordance}")

    @property
    def bettor(self) -> Bettor:
        """How this test bets."""
        return Bettor(self.alpha, self.horizon, self.discordance)

    @property
    def first_look(self) -> int:
        """Units before which nothing is decided."""
        return min(self.min_units, self.horizon)


class PrimaryTest:
    """Two e-processes: `gain` against E[d] <= 0 on the pessimistic readings, `lack` against E[d] >= min_gain on the
    optimistic ones, so that missing pairs neither help a promotion nor show harm. `outcome` has shape (campaigns,).
    """

    def __init__(self, rules: Rules, campaigns: int = 1) -> None:
        self.rules = rules
        self.gain = EProcess(rules.bettor, campaigns)
        self.lack = EProcess(rules.bettor, campaigns)
        self.outcome: NDArray[np.int64] = np.full(campaigns, Outcome.OPEN, dtype=np.int64)
        self.stopped_at: NDArray[np.int64] = np.full(campaigns, rules.horizon, dtype=np.int64)
        self._sum: Array = np.zeros(campaigns)

    def observe(self, worst: Array, best: Array) -> None:
        """Reads the next unit, in sealed order, of every campaign; shapes (campaigns,)."""
        self.gain.observe(worst)
        self.lack.observe(self.rules.min_gain - best)
        self._sum = self._sum + worst
        seen, rules = self.gain.seen, self.rules
        if seen < rules.first_look:
            return
        self._settle(self.gain.proven, Outcome.PROVEN)
        self._settle(self.lack.proven, Outcome.REFUTED)
        if seen >= rules.horizon:
            self._settle(np.ones_like(self.gain.proven), Outcome.EXHAUSTED)
        elif seen >= FUTILITY_FROM:
            nearly_refuted = self.lack.units_to_goal() <= REFUTE_WITHIN * seen
            self._settle(self._futile() & ~nearly_refuted, Outcome.FUTILE)

    def _settle(self, where: NDArray[np.bool_], outcome: Outcome) -> None:
        fresh = where & (self.outcome == Outcome.OPEN)
        self.outcome[fresh] = outcome
        self.stopped_at[fresh] = self.gain.seen

    def _futile(self) -> NDArray[np.bool_]:
        """Predictive probability of touching the goal by the horizon, given what was seen, below FUTILE_BELOW.

        The mean of the units to come is normal around the mean so far with variance v (1/left + 1/seen), v the mean
        square (D. Spiegelhalter et al. 1986, "Monitoring clinical trials: conditional or predictive power?"). A stop
        can only lower the number of promotions, so it needs no correction.
        """
        seen = self.gain.seen
        left = self.rules.horizon - seen
        spread = np.sqrt(self.gain.variance * left)
        distance = touch_distance(self.rules.bettor.goal - self.gain.log_e) * spread
        expected = self._sum / seen * left
        z = (expected - distance) / (spread * math.sqrt(1.0 + left / seen))
        return np.asarray(z < NormalDist().inv_cdf(FUTILE_BELOW))


def run_campaigns(rules: Rules, differences: Array) -> PrimaryTest:
    """Runs the test over differences of shape (horizon, campaigns), in which nothing is missing."""
    test = PrimaryTest(rules, differences.shape[1])
    for row in differences:
        test.observe(row, row)
        if np.all(test.outcome != Outcome.OPEN):
            break
    return test
