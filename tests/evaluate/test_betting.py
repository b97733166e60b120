"""The e-process keeps its level at every look, and its bounds agree with its decisions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.evaluate.betting import Bettor, EProcess, LowerTest, touch_distance
from evolve.evaluate.compare import PairedAcceptance, gain_variance, paired_acceptance, paired_interval, shrunken_gains
from evolve.evaluate.units import PairedUnit

differences = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=1, max_size=60)


def run(values: list[float], null: float = 0.0, alpha: float = 0.05) -> LowerTest:
    test = LowerTest(Bettor(alpha, len(values)), null=null)
    for value in values:
        test.observe(value)
    return test


def unit(name: str, difference: float | None) -> PairedUnit:
    if difference is None:
        return PairedUnit(name, 1.0, None)
    return PairedUnit(name, max(0.0, -difference), max(0.0, difference))


@given(differences, st.sampled_from([-0.1, 0.0, 0.05]))
@settings(deadline=None, max_examples=60)
def test_a_null_is_rejected_exactly_when_the_bound_is_above_it(values: list[float], null: float) -> None:
    test = run(values, null)
    assert test.proven == (test.bound() > null)


@given(differences)
@settings(deadline=None, max_examples=40)
def test_bounds_never_cross_and_stay_in_range(values: list[float]) -> None:
    interval = paired_interval([unit(f"c{i}", d) for i, d in enumerate(values)], 0.05)
    assert -1.0 <= interval.low <= interval.high <= 1.0


@given(differences)
@settings(deadline=None, max_examples=40)
def test_expected_wealth_of_a_fair_unit_is_what_it_was(values: list[float]) -> None:
    """The stakes depend on the past alone, so a fair +-1 unit leaves the mean wealth unchanged."""
    up, down = EProcess(Bettor(0.05, 80)), EProcess(Bettor(0.05, 80))
    for value in values:
        up.observe(np.array([value]))
        down.observe(np.array([value]))
    before = math.exp(up.log_e[0])
    up.observe(np.array([1.0]))
    down.observe(np.array([-1.0]))
    assert (math.exp(up.log_e[0]) + math.exp(down.log_e[0])) / 2 == pytest.approx(before, rel=1e-9)


def test_many_campaigns_at_once_are_the_same_as_one_by_one() -> None:
    values = np.random.default_rng(3).choice([-1.0, 0.0, 1.0], size=(50, 7))
    together = EProcess(Bettor(0.05, 50), 7)
    for row in values:
        together.observe(row)
    for column in range(7):
        assert run(list(values[:, column])).log_e == pytest.approx(together.log_e[column], abs=1e-12)


def test_ties_are_no_evidence() -> None:
    assert run([0.0] * 500).log_e == pytest.approx(0.0, abs=1e-12)


def test_a_step_below_minus_one_is_refused() -> None:
    for bad in (-1.5, math.nan, math.inf):
        with pytest.raises(ValueError, match="at least -1"):
            EProcess(Bettor(0.05, 5)).observe(np.array([bad]))


@pytest.mark.parametrize("chance_up", [0.5, 1 / 1.1, 0.1 / 1.1])
def test_error_stays_below_alpha_for_skewed_nulls(chance_up: float) -> None:
    """Mean-0 steps of unequal size, looked at after each of 300 units; the true rates are below 0.05."""
    up = 1.0 if chance_up <= 0.5 else 0.1
    down = -up * chance_up / (1 - chance_up)
    draws = np.where(np.random.default_rng(5).random((300, 3000)) < chance_up, up, down)
    process = EProcess(Bettor(0.05, 300), 3000)
    for row in draws:
        process.observe(row)
    assert process.proven.mean() <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 3000)


def test_confidence_sequences_cover_the_truth() -> None:
    rng = np.random.default_rng(8)
    missed_low = missed_high = 0
    for _ in range(150):
        values = rng.choice([1.0, -1.0, 0.0], size=80, p=[0.3, 0.1, 0.6])
        missed_low += run(list(values)).bound() > 0.2
        missed_high += -run(list(-values)).bound() < 0.2
    assert max(missed_low, missed_high) <= 150 * (0.05 + 3 * math.sqrt(0.05 * 0.95 / 150))


def test_touch_distance_is_the_normal_quantile() -> None:
    goal = float(touch_distance(np.array(-math.log(0.05))))
    assert goal == pytest.approx(1.96, abs=0.01)
    assert float(touch_distance(np.array(0.0))) == pytest.approx(0.0, abs=1e-6)


def test_acceptance_finds_a_gain_and_refuses_ties_and_missing_pairs() -> None:
    assert paired_acceptance([unit(f"c{i}", 1.0) for i in range(12)], 0.1).accepted
    assert not paired_acceptance([unit(f"c{i}", 0.0) for i in range(200)], 0.1).accepted
    assert not paired_acceptance([], 0.1).accepted
    mixed = [unit(f"c{i}", 1.0 if i % 2 else None) for i in range(40)]
    outcome = paired_acceptance(mixed, 0.1)
    assert (outcome.accepted, outcome.gain, outcome.missing) == (False, 1.0, outcome.units - outcome.wins)


def test_sequential_acceptance_does_not_depend_on_the_batches() -> None:
    units = [unit(f"c{i}", [1.0, 0.0, 1.0, -1.0][i % 4]) for i in range(60)]
    outcomes = []
    for size in (1, 4, 60):
        test = PairedAcceptance(alpha=0.1, horizon=60)
        for start in range(0, 60, size):
            test.observe_many(units[start : start + size])
        outcomes.append(test.outcome())
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_false_acceptance_of_a_loop_stays_below_its_level() -> None:
    rng = np.random.default_rng(2)
    accepted = 0
    for _ in range(400):
        draws = rng.random((16, 2)) < 0.6
        units = [PairedUnit(f"c{i}", float(b), float(c)) for i, (b, c) in enumerate(draws)]
        accepted += paired_acceptance(units, 0.1).accepted
    assert accepted / 400 <= 0.1 + 3 * math.sqrt(0.1 * 0.9 / 400)


def test_shrunken_gains_pull_noise_to_zero_and_keep_signal() -> None:
    assert shrunken_gains([0.05, -0.04, 0.03], [0.01, 0.01, 0.01]) == (0.0, 0.0, 0.0)
    (kept,) = shrunken_gains([0.4], [0.0001])
    assert 0.39 < kept < 0.4
    assert shrunken_gains([], []) == ()
    assert gain_variance([unit("a", 1.0)]) == 1.0
    assert gain_variance([unit(f"c{i}", 0.0) for i in range(5)]) == 0.0
