"""Before the first look: the plan of a gate, and what it can and cannot detect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from evolve.evaluate.betting import Array, touch_distance
from evolve.evaluate.guards import GuardSettings
from evolve.evaluate.sequential import Outcome, PrimaryTest, Rules, run_campaigns

SEED = 20240229
MOST_UNITS = 1000


@dataclass(frozen=True)
class GatePlan(Rules):
    """Rules, guards, and how many units each slice ("tag=value") has among the sealed ones.

    Without `slice_units` a slice is expected to cover the horizon. `cases` stand behind the horizon, one a unit when
    not given.
    """

    guards: tuple[GuardSettings, ...] = ()
    slice_units: Mapping[str, int] | None = None
    cases: int | None = None

    def guard_units(self, guard: GuardSettings) -> int:
        """How many units a guard can expect by the horizon."""
        if guard.slice is None or self.slice_units is None:
            return self.horizon
        return min(self.horizon, self.slice_units.get(guard.slice, 0))


def draw_differences(gain: float, discordance: float, shape: tuple[int, int], seed: int) -> Array:
    """Differences in {-1, 0, 1}, shape (units, campaigns): `discordance` is the share of cases won or lost.

    It is raised to `gain` where it is smaller: a gain cannot exceed the share of cases that differ.
    """
    discordance = max(discordance, abs(gain))
    uniform = np.random.default_rng(seed).random(shape)
    won, decided = uniform < (discordance + gain) / 2, uniform < discordance
    return np.where(won, 1.0, np.where(decided, -1.0, 0.0))


@lru_cache(maxsize=256)
def _simulate(gain: float, horizon: int, alpha: float, discordance: float) -> tuple[float, float]:
    """(share promoted, mean units looked at) of the very test that will run, from seeded campaigns."""
    campaigns = int(np.clip(150_000 // horizon, 150, 600))
    draws = draw_differences(gain, discordance, (horizon, campaigns), SEED)
    test = run_campaigns(Rules(alpha, horizon, discordance=discordance), draws)
    return float((test.outcome == Outcome.PROVEN).mean()), float(test.stopped_at.mean())


def power(gain: float, horizon: int, alpha: float, discordance: float = 0.3) -> float:
    """The chance that a challenger with this true gain is promoted within `horizon` units (standard error <= 0.04)."""
    return _simulate(gain, horizon, alpha, discordance)[0]


def expected_looks(gain: float, horizon: int, alpha: float, discordance: float = 0.3) -> float:
    """Mean number of units looked at before the test stops, for whatever reason."""
    return _simulate(gain, horizon, alpha, discordance)[1]


def minimum_detectable_gain(horizon: int, alpha: float, power: float = 0.8, discordance: float = 0.3) -> float | None:
    """The smallest true gain, to half a point, that is promoted with this power; None when not even a gain of 1 is.

    Simulated on at most MOST_UNITS units; beyond, the gain shrinks as one over the square root of the units.
    """
    units = min(horizon, MOST_UNITS)
    low, high = 0, 200
    if _simulate(1.0, units, alpha, discordance)[0] < power:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if _simulate(middle / 200, units, alpha, discordance)[0] >= power:
            high = middle
        else:
            low = middle
    return float(high / 200 * (units / horizon) ** 0.5)


@lru_cache(maxsize=64)
def fewest_units(alpha: float) -> int:
    """The smallest number of sealed units on which a challenger that wins every one of them is promoted."""
    units = 1
    while not bool(_all_won(alpha, units).outcome[0] == Outcome.PROVEN):
        units += 1
    return units


def _all_won(alpha: float, units: int) -> PrimaryTest:
    return run_campaigns(Rules(alpha, units), np.ones((units, 1)))


def units_needed(gain: float, alpha: float, discordance: float) -> int | None:
    """About how many units promote a true gain four times in five; None when the gain is not above 0.

    Brownian approximation of the deadline bet's power, n = v ((z_goal + 0.84) / gain)^2 with v the mean square of a
    difference, and a tenth more for the wealth kept in the early bets.
    """
    if gain <= 0.0:
        return None
    z = float(touch_distance(np.array(-np.log(alpha)))) + 0.84
    return max(fewest_units(alpha), int(np.ceil(1.1 * max(discordance, gain * gain) * (z / gain) ** 2)))
