from __future__ import annotations

import numpy as np
import pytest

from portfolios.decision import Rule
from portfolios.drift import LEVEL, Routed, betting_wealth, read_traffic


def queries(strange: list[bool], member: str = "a") -> list[Routed]:
    return [Routed(member, Rule.FAR if far else Rule.MATCHER) for far in strange]


def test_a_shifted_mix_raises_the_alarm_within_a_hundred_queries() -> None:
    rng = np.random.default_rng(0)
    steady = list(rng.random(300) < 0.03)
    shifted = list(rng.random(100) < 0.4)
    assert not read_traffic(queries(steady), 0.01).alarm
    traffic = read_traffic(queries(steady + shifted), 0.01)
    assert traffic.alarm and any("DRIFT" in line for line in traffic.words())


def test_without_drift_the_alarm_hardly_ever_sounds_however_often_it_is_looked_at() -> None:
    rng = np.random.default_rng(1)
    sounded = 0
    for _ in range(400):
        stream = rng.random(200) < 0.05
        steps = (betting_wealth(list(stream[:n]), 0.05) >= 1 / LEVEL for n in range(10, 201, 10))
        sounded += any(steps)
    assert sounded / 400 <= 2 * LEVEL


def test_shares_and_failures_are_counted_by_member() -> None:
    traffic = read_traffic([*queries([False] * 3), Routed("b", Rule.MARGIN, failed=("a",))], 0.01)
    assert traffic.shares == {"a": 0.75, "b": 0.25}
    assert traffic.failures == {"a": 1}
    assert any("a failed 1 times" in line for line in traffic.words())


def test_no_traffic_says_so() -> None:
    assert read_traffic([], 0.01).words() == ["traffic: no query was routed through this version yet"]


def test_evidence_grows_only_with_strange_queries() -> None:
    assert betting_wealth([False] * 50, 0.05) < 1.0
    assert betting_wealth([True] * 5, 0.05) > betting_wealth([True] * 4, 0.05)
    assert betting_wealth([True] * 200, 0.05) == pytest.approx(betting_wealth([True] * 200, 0.05))
