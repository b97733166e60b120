"""The plan tells before the first look what can be detected, by the very test that will run."""

import time

import pytest

from evolve.evaluate.plan import expected_looks, fewest_units, minimum_detectable_gain, power, units_needed


def test_more_units_detect_smaller_gains() -> None:
    gains = [minimum_detectable_gain(n, 0.05) for n in (20, 50, 300, 2000)]
    assert all(g is not None for g in gains)
    assert gains == sorted((g for g in gains if g is not None), reverse=True)
    assert 0.07 <= (minimum_detectable_gain(300, 0.05) or 0) <= 0.11


def test_the_detectable_gain_has_the_power_it_claims() -> None:
    gain = minimum_detectable_gain(100, 0.05)
    assert gain is not None
    assert power(gain, 100, 0.05) >= 0.8 > power(gain - 0.02, 100, 0.05)


def test_a_horizon_that_cannot_decide_says_how_many_units_would() -> None:
    assert minimum_detectable_gain(3, 0.05) is None
    assert fewest_units(0.05) == 5
    assert minimum_detectable_gain(5, 0.05) is not None
    assert fewest_units(0.05 / 40) > fewest_units(0.05)


@pytest.mark.parametrize("gain", [0.05, 0.1, 0.2])
def test_units_needed_have_about_the_promised_power(gain: float) -> None:
    units = units_needed(gain, 0.05, 0.3)
    assert units is not None
    assert 0.7 <= power(gain, units, 0.05) <= 0.93


def test_no_gain_needs_no_number() -> None:
    assert units_needed(0.0, 0.05, 0.3) is None
    assert units_needed(-0.1, 0.05, 0.3) is None


def test_power_at_ten_points_and_the_looks_it_takes() -> None:
    assert power(0.1, 300, 0.05) >= 0.84
    assert expected_looks(0.1, 300, 0.05) <= 0.62 * 300
    assert power(0.0, 300, 0.05) <= 0.08


def test_planning_is_quick() -> None:
    start = time.process_time()
    minimum_detectable_gain(777, 0.0321)
    assert time.process_time() - start < 2.0
