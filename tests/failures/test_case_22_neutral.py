"""Case 22: neutral rewordings are promoted no more often than alpha, identical arms and ties never."""

import math

import numpy as np
import pytest

from evolve.evaluate.gate import GatePlan, GateTest
from evolve.evaluate.sequential import Outcome, Rules, run_campaigns
from evolve.evaluate.units import PairedUnit

ALPHA = 0.05
CAMPAIGNS = 400


def neutral(cases: int, campaigns: int, challengers: int, rate: float) -> np.ndarray:
    """Shared baseline runs and independent challengers, all passing with `rate`."""
    rng = np.random.default_rng(22)
    baseline = rng.random((cases, campaigns, 1)) < rate
    challenger = rng.random((cases, campaigns, challengers)) < rate
    return (challenger.astype(float) - baseline).reshape(cases, campaigns * challengers)


@pytest.mark.parametrize("cases", [20, 60])
def test_forty_neutral_rewordings_on_one_sealed_set(cases: int) -> None:
    test = run_campaigns(Rules(ALPHA / 40, cases), neutral(cases, CAMPAIGNS, 40, 0.6))
    promoted = (test.outcome == Outcome.PROVEN).reshape(CAMPAIGNS, 40).any(axis=1).mean()
    assert promoted <= ALPHA


@pytest.mark.parametrize("rate", [0.1, 0.6, 0.95])
def test_one_neutral_finalist_with_a_look_after_each_of_2000_cases(rate: float) -> None:
    test = run_campaigns(Rules(ALPHA, 2000), neutral(2000, 600, 1, rate))
    assert (test.outcome == Outcome.PROVEN).mean() <= ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / 600)


def test_the_common_rule_would_promote_in_almost_every_campaign() -> None:
    """The comparison that makes the number above mean something: strictly better on 3 cases, one of 40 rewordings."""
    rng = np.random.default_rng(22)
    better = rng.binomial(3, 0.6, (CAMPAIGNS, 40)) > rng.binomial(3, 0.6, (CAMPAIGNS, 40))
    assert better.any(axis=1).mean() > 0.95


@pytest.mark.parametrize("score", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("horizon", [3, 20, 500])
@pytest.mark.parametrize("min_gain", [0.0, 0.02])
def test_identical_arms_are_never_promoted(score: float, horizon: int, min_gain: float) -> None:
    test = GateTest(GatePlan(alpha=ALPHA, horizon=horizon, min_gain=min_gain))
    test.observe_many([PairedUnit(f"c{i}", score, score) for i in range(horizon)])
    verdict = test.verdict("seed", "reworded")
    assert verdict.decision != "promote"
    assert verdict.gain == 0.0
    assert verdict.gain_low <= 0.0
    assert verdict.log_e == pytest.approx(0.0, abs=1e-9)


def test_as_many_wins_as_losses_are_not_promoted() -> None:
    test = GateTest(GatePlan(alpha=ALPHA, horizon=200))
    test.observe_many([PairedUnit(f"c{i}", float(i % 2 == 0), float(i % 2 == 1)) for i in range(200)])
    assert test.verdict("seed", "reworded").decision != "promote"
