from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.core.cases import Case
from evolve.core.errors import UserError
from evolve.core.scores import Result, Score, Scorecard
from evolve.core.traces import RunStatus
from portfolios.edges import Edges, Query


def card(tree: str, *results: Result) -> Scorecard:
    return Scorecard(tree, {(r.case_id, r.repetition): r for r in results})


def result(case: str, value: float | None, repetition: int = 0, **more: object) -> Result:
    score = Score(value, "")
    return Result(case, repetition, RunStatus.FINISHED, score, **more)  # type: ignore[arg-type]


def small(scores: np.ndarray) -> Edges:
    rows, columns = scores.shape
    queries = tuple(Query(f"c{i}", f"text {i} é", f"f{i}", f"case:c{i}") for i in range(rows))
    vectors = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
    return Edges(queries, tuple(f"t{j}" for j in range(columns)), vectors, scores)


SCORES = st.lists(
    st.lists(st.sampled_from([0.0, 1 / 3, 1.0, np.nan]), min_size=3, max_size=3), min_size=1, max_size=6
).map(np.array)


@given(SCORES, st.randoms(use_true_random=False))
def test_the_hash_ignores_the_order_of_rows_and_columns(scores: np.ndarray, random: object) -> None:
    edges = small(scores)
    rows, columns = list(range(len(scores))), [0, 1, 2]
    random.shuffle(rows)  # type: ignore[attr-defined]
    random.shuffle(columns)  # type: ignore[attr-defined]
    shuffled = edges.take(rows, columns)
    assert shuffled.edge_set_hash == edges.edge_set_hash
    assert shuffled.in_order().to_bytes() == edges.in_order().to_bytes()


@given(SCORES)
def test_the_hash_sees_every_score(scores: np.ndarray) -> None:
    edges = small(scores)
    changed = scores.copy()
    changed[0, 0] = 0.5
    assert small(changed).edge_set_hash != edges.edge_set_hash


@given(SCORES, st.booleans())
def test_bytes_read_back_the_same(scores: np.ndarray, costs: bool) -> None:
    edges = replace(small(scores), costs=scores * 0.01 if costs else None)
    again = Edges.from_bytes(edges.to_bytes())
    assert again.queries == edges.queries and again.members == edges.members
    np.testing.assert_array_equal(again.scores, edges.scores)
    np.testing.assert_array_equal(again.embeddings, edges.embeddings)
    assert (again.costs is None) == (edges.costs is None)
    assert again.to_bytes() == edges.to_bytes()


def test_the_bit_pattern_of_a_missing_score_does_not_change_the_bytes() -> None:
    negative = np.copysign(np.nan, -1.0)
    assert small(np.array([[np.nan, 1.0]])).to_bytes() == small(np.array([[negative, 1.0]])).to_bytes()


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-3], lambda b: b[:90] + b"x" + b[91:], lambda b: b"", lambda b: b"PK" + b]
)
def test_damaged_bytes_are_refused(damage: Callable[[bytes], bytes]) -> None:
    with pytest.raises(UserError, match="not a whole edge table"):
        Edges.from_bytes(damage(small(np.ones((2, 2))).to_bytes()))


def test_edges_are_built_from_scorecards() -> None:
    cases = [Case("b", "two plus two"), Case("a", "one plus one")]
    cards = [
        card("t2", result("a", 1.0, 0, usd=Decimal("0.02")), result("a", 0.0, 1, usd=Decimal("0.04"))),
        card("t1", result("a", 1.0, 0, unpriced_calls=1), result("b", None)),
    ]
    edges = Edges.build(cases, cards, np.eye(2, 4, dtype=np.float32))
    row = {q.case_id: i for i, q in enumerate(edges.queries)}
    assert edges.members == ("t1", "t2")
    assert edges.scores[row["a"], 1] == 0.5 and edges.scores[row["a"], 0] == 1.0
    assert np.isnan(edges.scores[row["b"]]).all()
    assert edges.costs is not None
    assert edges.costs[row["a"], 1] == pytest.approx(0.03)
    assert np.isnan(edges.costs[row["a"], 0]), "an unpriced call makes a cost unknown, not free"
    np.testing.assert_array_equal(edges.embeddings[row["b"]], np.eye(2, 4)[0])


def test_a_demonstration_leaves_the_edges_of_its_own_tree_only() -> None:
    cases = [Case("a", "one"), Case("b", "two")]
    cards = [card(t, result("a", 1.0), result("b", 0.0)) for t in ("t1", "t2")]
    edges = Edges.build(cases, cards, np.eye(2, dtype=np.float32), demonstrations={"t1": ["a"], "gone": ["b"]})
    row = {q.case_id: i for i, q in enumerate(edges.queries)}
    assert np.isnan(edges.scores[row["a"], 0])
    assert edges.scores[row["a"], 1] == 1.0 and edges.scores[row["b"], 0] == 0.0
    assert list(edges.counts) == [1, 2]


def test_scores_outside_the_unit_interval_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        small(np.array([[1.5]]))


def test_a_member_without_a_column_is_named() -> None:
    with pytest.raises(UserError, match="t9"):
        small(np.ones((1, 2))).of_members(["t1", "t9"])
