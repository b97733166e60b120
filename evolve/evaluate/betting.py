"""The e-process: a gambler's wealth that grows only if a mean is really above its null, for one or many campaigns.

Let d_1, d_2, … be bounded and suppose E[d_i | past] <= m (the null). Whoever stakes the fraction s_i >= 0 of the
wealth, chosen before d_i is seen, owns W_n = prod_i (1 + s_i (d_i - m)), a nonnegative supermartingale that starts at
1. By Ville's inequality (J. Ville 1939, "Étude critique de la notion de collectif") P(sup_n W_n >= 1/alpha) <= alpha:
looking after every unit costs nothing. Rejecting every m with W(m) >= 1/alpha gives a confidence sequence
(I. Waudby-Smith and A. Ramdas 2024, "Estimating means of bounded random variables by betting"; S. Howard et al. 2021,
"Time-uniform, nonparametric, nonasymptotic confidence sequences"). Nothing is known about the units that are still
sealed, so there is no finite-population correction: the null is about future cases.

Validity never depends on how the stakes are chosen, power does. The wealth is split into fixed parts: two small ones
bet constant fractions and notice large gains early; the main one bets towards the goal 1/alpha by the horizon, as one
who must own a sum at a deadline does (S. Browne 1999, "Reaching goals by a deadline: digital options and continuous-
time active portfolio management"). In Brownian time with v variance left, the wealth of the one-touch option is
alpha W = 2 Phi(-z), z = distance / sqrt(v), and its stake is the hazard of |normal| at z over sqrt(v). With
L = log(goal / wealth) that hazard is close to sqrt(0.64 + 1.6 L): it is 2.34 for L = log 20, and `sqrt(2 L / v)`, the
stake of Waudby-Smith and Ramdas, for large L.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MAX_STAKE = 0.95
"""Largest fraction of the wealth that one unit can lose."""
DEADLINE_SHARE = 0.8
FIXED_STAKES = (0.3, 0.7)
PRIOR_UNITS = 20.0
"""How many units the assumed discordance weighs against the observed one."""


@dataclass(frozen=True, slots=True)
class Bettor:
    """How to bet: the goal 1/alpha, the units expected, and the assumed mean square of a difference (discordance)."""

    alpha: float
    horizon: int
    discordance: float = 0.3

    @property
    def goal(self) -> float:
        """The log wealth that rejects the null."""
        return -math.log(self.alpha)

    @property
    def log_shares(self) -> Array:
        """Shape (parts,): the log of each part's starting wealth; they sum to 1."""
        rest = (1.0 - DEADLINE_SHARE) / len(FIXED_STAKES)
        shares: Array = np.array([DEADLINE_SHARE, *[rest] * len(FIXED_STAKES)])
        return np.asarray(np.log(shares), dtype=np.float64)


class EProcess:
    """Evidence against E[step] <= 0 for steps >= -1, in `campaigns` independent campaigns at once; O(parts) a unit.

    `log_e` and `peak` have shape (campaigns,). `last_stakes`, of shape (parts, campaigns), were chosen before the
    last step.
    """

    def __init__(self, bettor: Bettor, campaigns: int = 1) -> None:
        self.bettor = bettor
        self.seen = 0
        self.log_e: Array = np.zeros(campaigns)
        self.peak: Array = np.zeros(campaigns)
        self._squares: Array = np.zeros(campaigns)
        self._parts: Array = np.tile(bettor.log_shares[:, None], (1, campaigns))
        self._stakes: Array = np.repeat([[0.0], *[[stake] for stake in FIXED_STAKES]], campaigns, axis=1)
        self.last_stakes: Array = self._stakes

    @property
    def variance(self) -> Array:
        """Estimated mean square of a step, the assumed discordance counted as PRIOR_UNITS units."""
        prior = PRIOR_UNITS * self.bettor.discordance
        return np.asarray((prior + self._squares) / (PRIOR_UNITS + self.seen), dtype=np.float64)

    def stakes(self) -> Array:
        """Shape (parts, campaigns): the fraction each part stakes on the next unit, from the past alone."""
        variance_left = max(self.bettor.horizon - self.seen, 1) * self.variance
        missing = np.maximum(self.bettor.goal - self._parts[0], 0.0)
        hazard = np.sqrt(0.64 + 1.6 * missing)
        stakes = self._stakes.copy()
        stakes[0] = np.minimum(hazard / np.sqrt(variance_left), MAX_STAKE)
        return stakes

    def observe(self, steps: Array) -> None:
        """Settles one unit in every campaign. Steps below -1 would break the guarantee: ValueError."""
        if np.any(steps < -1.0) or not np.all(np.isfinite(steps)):
            raise ValueError("a step is a finite number of at least -1")
        self.last_stakes = self.stakes()
        self._parts = self._parts + np.log1p(self.last_stakes * steps)
        self._squares = self._squares + steps * steps
        self.seen += 1
        self.log_e = np.logaddexp.reduce(self._parts, axis=0)
        self.peak = np.maximum(self.peak, self.log_e)

    def units_to_goal(self) -> Array:
        """Units until the fastest part alone reaches the goal if it goes on as so far; infinite where none grows."""
        grown = self._parts - self.bettor.log_shares[:, None]
        missing = np.maximum(self.bettor.goal - self._parts, 0.0)
        units = np.where(grown > 0.0, missing * self.seen / np.where(grown > 0.0, grown, 1.0), np.inf)
        return np.asarray(units.min(axis=0), dtype=np.float64)

    @property
    def proven(self) -> NDArray[np.bool_]:
        """Whether the wealth has ever exceeded 1/alpha: the null is rejected, at any look."""
        return np.asarray(self.peak > self.bettor.goal)


def worst_loss(mean: float) -> float:
    """An upper bound of mean * weight - difference, for differences >= -1 and weights in [0, 1]."""
    return max(1.0, 1.0 + mean)


class BetRecord:
    """What was staked on what: the lower confidence sequence of a parameter m, by the bets that were made anyway.

    m is defined by E[difference - m * weight] = 0, with weights in [0, 1] and difference - m * weight >=
    -worst_loss(m): weight 1 makes it the mean of differences in [-1, 1]; difference b - c with weight b, both in
    [0, 1], makes it the relative saving 1 - E[c] / E[b]. `span` brackets m.
    """

    def __init__(self, bettor: Bettor, null: float, span: tuple[float, float] = (-1.0, 1.0)) -> None:
        self._bettor = bettor
        self._null = null
        self._span = span
        self._rows: list[tuple[float, float]] = []
        self._stakes: list[Array] = []

    def add(self, difference: float, weight: float, stakes: Array) -> None:
        """Notes one settled unit and the stakes, shape (parts,), that an EProcess made on its step against the null."""
        self._rows.append((difference, weight))
        self._stakes.append(stakes / worst_loss(self._null))

    def bound(self, proven: bool) -> float:
        """The largest m such that it and all below are rejected: the chance that it ever exceeds the truth is <= alpha.

        Every m is tested with the stakes chosen for the null (cut where they could ruin), so wealth falls as m rises
        and the rejected m are an interval; it reaches above the null exactly when the null is `proven` false. Found
        by bisection in O(units); the lower end of `span` when nothing is rejected.
        """
        low, high = (self._null, self._span[1]) if proven else (self._span[0], self._null)
        rows, stakes = np.array(self._rows), np.array(self._stakes)
        if not self._rows or (not proven and self._peak(low, rows, stakes) <= self._bettor.goal):
            return low
        for _ in range(60):
            middle = (low + high) / 2
            if self._peak(middle, rows, stakes) > self._bettor.goal:
                low = middle
            else:
                high = middle
        return low if low > self._null or not proven else math.nextafter(self._null, math.inf)

    def _peak(self, mean: float, rows: Array, stakes: Array) -> float:
        cut = np.minimum(stakes, MAX_STAKE / worst_loss(mean))
        steps = rows[:, 0] - mean * rows[:, 1]
        parts = np.cumsum(np.log1p(cut * steps[:, None]), axis=0) + self._bettor.log_shares
        return float(np.logaddexp.reduce(parts, axis=1).max())


class LowerTest:
    """An EProcess with its BetRecord: is m above `null`? For the other side negate null and differences."""

    def __init__(self, bettor: Bettor, *, null: float = 0.0, span: tuple[float, float] = (-1.0, 1.0)) -> None:
        self._process = EProcess(bettor)
        self._record = BetRecord(bettor, null, span)
        self._null = null

    def observe(self, difference: float, weight: float = 1.0) -> None:
        """Settles one unit."""
        self._process.observe(np.array([(difference - self._null * weight) / worst_loss(self._null)]))
        self._record.add(difference, weight, self._process.last_stakes[:, 0])

    @property
    def proven(self) -> bool:
        """Whether the null is rejected; equivalent to `bound() > null`."""
        return bool(self._process.proven[0])

    @property
    def log_e(self) -> float:
        """The log of the wealth now."""
        return float(self._process.log_e[0])

    def bound(self) -> float:
        """The lower confidence bound of m, see BetRecord."""
        return self._record.bound(self.proven)


def touch_distance(log_missing: Array) -> Array:
    """z with 2 Phi(-z) = exp(-log_missing): how many standard deviations of what is left the goal is away.

    Inverse error function of S. Winitzki 2008, "A handy approximation for the error function and its inverse"
    (relative error below 0.002).
    """
    a = 0.147
    missing = np.maximum(log_missing, 0.0)
    log_term = np.log(2.0 - np.exp(-missing)) - missing
    half = 2.0 / (math.pi * a) + log_term / 2.0
    return np.asarray(np.sqrt(2.0 * np.maximum(np.sqrt(half * half - log_term / a) - half, 0.0)))
