from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflows.diversify import (
    coverage,
    draw,
    marginal_coverage,
    need,
    parent_chances,
    share_bound,
    weights,
)

GENERALIST, SPECIALIST = [1, 1, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0, 1, 1]


def test_needs_are_one_on_average_and_highest_where_nobody_solves() -> None:
    found = need(np.array([GENERALIST, GENERALIST], float))
    assert found.mean() == pytest.approx(1.0)
    assert found[7] == pytest.approx(3 * found[0])


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 12))
def test_equal_needs_reduce_to_the_plain_weights(seed: int, workflows: int, queries: int) -> None:
    column = np.random.default_rng(seed).random((workflows, 1))
    scores = np.tile(column, (1, queries))
    np.testing.assert_allclose(weights(scores, complementary=True), weights(scores, complementary=False))
    np.testing.assert_allclose(weights(scores, complementary=False), 100 * column[:, 0])


def test_a_specialist_is_favoured_by_complementarity_and_not_by_the_plain_objective() -> None:
    scores = np.array([GENERALIST, GENERALIST, GENERALIST, SPECIALIST], float)
    plain, complementary = (weights(scores, complementary=which) for which in (False, True))
    assert plain[3] < plain[0] / 2
    assert complementary[3] / complementary[0] > 1.5 * plain[3] / plain[0]


def test_unmeasured_queries_are_left_out_and_an_unmeasured_workflow_weighs_nothing() -> None:
    scores = np.array([[1.0, np.nan, np.nan], [np.nan] * 3])
    assert weights(scores, complementary=False).tolist() == [100.0, 0.0]


@settings(deadline=None)
@given(st.lists(st.floats(0, 100), min_size=1, max_size=9), st.floats(0.01, 1), st.floats(0, 2))
def test_chances_sum_to_one_and_leave_nobody_out(eta: list[float], explore: float, greed: float) -> None:
    chances = parent_chances(np.array(eta), explore=explore, greed=greed)
    assert chances.sum() == pytest.approx(1.0)
    assert chances.min() >= explore / len(eta) - 1e-12
    assert chances.argmax() == np.argmax(eta) or chances.max() == pytest.approx(chances[int(np.argmax(eta))])


def test_draws_follow_the_chances_and_repeat_with_the_seed() -> None:
    chances = parent_chances(np.array([50.0, 40.0, 0.0]))
    drawn = [draw(chances, seed) for seed in range(4000)]
    assert drawn == [draw(chances, seed) for seed in range(4000)]
    np.testing.assert_allclose(np.bincount(drawn) / 4000, chances, atol=0.03)


def test_coverage_counts_nobody_few_and_many() -> None:
    scores = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0.4], [1, 0, 0, 0]], float)
    found = coverage(scores, shown=2)
    assert (found.nobody, found.few, found.many) == (2, 1, 1)
    assert found.least == (2, 3)


def test_marginal_coverage_counts_only_what_is_new() -> None:
    scores = np.array([GENERALIST, GENERALIST, SPECIALIST], float)
    assert marginal_coverage(scores, [0], 1) == 0.0
    assert marginal_coverage(scores, [0], 2) == pytest.approx(0.25)
    assert marginal_coverage(scores, [], 2) == pytest.approx(0.25)


def test_the_share_bound_is_exact() -> None:
    assert share_bound(0, 60, 0.1) == pytest.approx(1 - 0.1 ** (1 / 60), abs=1e-6)
    assert share_bound(5, 5, 0.1) == 1.0
    assert 0.2 < share_bound(3, 30, 0.1) < 0.25
