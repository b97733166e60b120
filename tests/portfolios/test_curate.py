import json
from itertools import combinations
from math import e
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evolve.core.errors import UserError
from portfolios.coverage import Pool, choose_exact, choose_greedy
from portfolios.curate import CurationSettings, curate

TABLES = arrays(
    np.float64,
    st.tuples(st.integers(1, 12), st.integers(1, 7)),
    elements=st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0, np.nan]),
)


def test_published_curation_is_reproduced(shared_data: Path) -> None:
    folder = shared_data / "flowbank_math"
    sources = json.loads((folder / "sources.json").read_text())
    reference = json.loads((folder / "reference.json").read_text())
    members = list(sources)
    curation = curate(members, np.array([sources[m] for m in members]).T)
    assert curation.ceiling == pytest.approx(reference["meta"]["pool_ceiling"], abs=1e-12)
    assert len(curation.members) == 5
    assert set(curation.members) == set(reference["per_k"][4]["best_combo"])
    for point, expected in zip(curation.curve, reference["per_k"], strict=True):
        assert point.method == "exact"
        assert point.covered == pytest.approx(expected["oracle_total"], abs=1e-3)
        assert list(point.members) == expected["best_combo"]
        assert point.ties == expected["n_oracle_ties"]
        assert point.correlation == pytest.approx(expected["avg_pair_corr_tiebreaker"], abs=5e-5)


@given(TABLES, st.integers(1, 5))
def test_exact_search_equals_trying_every_set(scores: np.ndarray, size: int) -> None:
    pool = Pool.of(scores)
    size = min(size, pool.size)
    chosen = choose_exact(pool, size)
    totals = {s: round(pool.covered(s), 6) for s in combinations(range(pool.size), size)}
    best = max(totals.values())
    tied = [s for s, total in totals.items() if total == best]
    assert totals[chosen.columns] == best
    assert chosen.ties == len(tied) - 1
    assert pool.correlation(chosen.columns) <= min(pool.correlation(s) for s in tied) + 1e-9


@given(TABLES, st.integers(1, 5))
def test_greedy_keeps_its_guarantee(scores: np.ndarray, size: int) -> None:
    pool = Pool.of(scores)
    size = min(size, pool.size)
    greedy, exact = choose_greedy(pool, size), choose_exact(pool, size)
    assert len(greedy.columns) == size
    assert pool.covered(greedy.columns) >= (1 - 1 / e) * pool.covered(exact.columns) - 1e-6


@given(TABLES)
def test_lazy_greedy_takes_the_largest_gain_each_time(scores: np.ndarray) -> None:
    pool = Pool.of(scores)
    before: tuple[int, ...] = ()
    for size in range(1, pool.size + 1):
        now = choose_greedy(pool, size).columns
        assert set(before) <= set(now)
        best = max(pool.covered((*before, j)) for j in range(pool.size) if j not in before)
        assert pool.covered(now) == pytest.approx(best, abs=1e-5)
        before = now


@settings(max_examples=50)
@given(TABLES, st.data())
def test_required_members_are_always_in(scores: np.ndarray, data: st.DataObject) -> None:
    members = [f"t{j}" for j in range(scores.shape[1])]
    required = data.draw(st.sampled_from(members))
    for cells in (0, 10**8):
        curation = curate(members, scores, CurationSettings(required=(required,), exact_cells=cells))
        assert required in curation.members
        assert all(required in point.members for point in curation.curve)


def test_missing_scores_count_nothing_and_are_counted() -> None:
    scores = np.array([[np.nan, 1.0], [np.nan, 0.0], [1.0, 1.0]])
    curation = curate(["a", "b"], scores)
    assert curation.members == ("b",)
    assert curation.missing == 2


def test_ties_go_to_the_less_correlated_pair() -> None:
    twin = [1, 1, 0, 0, 0, 0]
    scores = np.array([twin, [1, 1, 0, 0, 1, 1], [0, 0, 1, 1, 0, 0], [1, 1, 1, 1, 0, 0]], float).T
    point = curate(["a", "b", "c", "d"], scores).curve[1]
    assert point.coverage == 1.0
    assert point.members == ("b", "c")
    assert point.ties == 1


def test_each_member_says_what_it_adds() -> None:
    scores = np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 0]], float).T
    curation = curate(["a", "b"], scores, CurationSettings(tau=1.0))
    assert [(c.member, c.adds, c.cases_only_it_leads) for c in curation.contributions] == [("a", 0.4, 2), ("b", 0.2, 1)]
    assert curation.contributions[1].words == (
        "adds 20.0 points of coverage: on 1 of 5 cases it does better than every other member"
    )


def test_the_largest_set_allowed_is_named_as_too_small() -> None:
    curation = curate(["a", "b", "c"], np.eye(3), CurationSettings(max_size=2))
    assert not curation.reached
    assert "no set of up to 2 reaches 96 %" in curation.reason


def test_nobody_solves_anything() -> None:
    assert len(curate(["a", "b"], np.zeros((4, 2))).members) == 1


def test_a_large_pool_is_searched_greedily_and_says_so() -> None:
    rng = np.random.default_rng(1)
    scores = (rng.random((200, 60)) < 0.4).astype(float)
    curation = curate([f"t{j}" for j in range(60)], scores)
    assert [point.method for point in curation.curve][-1] == "greedy"
    assert curation.curve[-1].ties is None


@pytest.mark.parametrize(
    ("members", "shape", "options", "word"),
    [
        ([], (3, 0), {}, "nothing to curate"),
        (["a"], (0, 1), {}, "nothing to curate"),
        (["a"], (2, 1), {"required": ("zz",)}, "zz"),
        (["a"], (2, 1), {"tau": 1.5}, "out of range"),
        (["a", "b"], (2, 2), {"required": ("a", "b"), "max_size": 1}, "exceed max_size"),
    ],
)
def test_what_cannot_be_curated_is_refused(
    members: list[str], shape: tuple[int, int], options: dict[str, object], word: str
) -> None:
    with pytest.raises(UserError, match=word):
        curate(members, np.zeros(shape), CurationSettings(**options))  # type: ignore[arg-type]
