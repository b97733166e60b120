from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from evolve.core.errors import UserError
from portfolios.curve import CurvePoint, draw_curve, gap_recovered, paired_interval
from portfolios.edges import Edges
from portfolios.matchers import KNN, Stack
from portfolios.recipe import RouterPolicy

BuildWorld = Callable[..., Edges]
POLICY = RouterPolicy(default_member="tree-0", margin=0.5)


def test_the_curve_holds_singles_router_random_and_oracle_on_the_same_queries(topic_edges: BuildWorld) -> None:
    edges = topic_edges(120)
    edges = replace(edges, costs=np.tile([0.001, 0.004, 0.010], (120, 1)))
    curve = draw_curve(edges, Stack(), POLICY)
    singles, routed = curve.of_kind("single"), curve.of_kind("routed")
    assert [p.score for p in singles] == pytest.approx(edges.scores.mean(axis=0).tolist())
    assert [p.cost for p in singles] == pytest.approx([0.001, 0.004, 0.010])
    assert routed[0].score > max(p.score for p in singles) + 0.2 and routed[0].gain_low > 0
    assert routed[-1].cost is not None and routed[0].cost is not None and routed[-1].cost <= routed[0].cost
    (oracle,) = curve.of_kind("oracle")
    assert oracle.score == pytest.approx(edges.scores.max(axis=1).mean())
    (random,) = curve.of_kind("random")
    assert random.score == pytest.approx(edges.scores.mean())


def test_a_failed_run_costs_what_it_cost(topic_edges: BuildWorld) -> None:
    edges = topic_edges(60)
    costs = np.where(edges.scores > 0.5, 0.001, 0.009)
    curve = draw_curve(replace(edges, costs=costs), KNN(), POLICY)
    worst = min(curve.of_kind("single"), key=lambda p: p.score)
    best = max(curve.of_kind("single"), key=lambda p: p.score)
    assert worst.cost is not None and best.cost is not None and worst.cost > best.cost


def test_without_prices_there_is_no_cost_and_no_area(topic_edges: BuildWorld) -> None:
    curve = draw_curve(topic_edges(60), KNN(), POLICY)
    assert {p.cost for p in curve.points} == {None} and curve.recovered is None
    assert len(curve.of_kind("routed")) == 1


def test_rows_with_a_missing_score_are_left_out(topic_edges: BuildWorld) -> None:
    edges = topic_edges(60)
    scores = edges.scores.copy()
    scores[:7, 1] = np.nan
    assert draw_curve(replace(edges, scores=scores), KNN(), POLICY).queries == 53
    with pytest.raises(UserError, match="too few complete cases"):
        draw_curve(replace(edges, scores=np.full_like(scores, np.nan)), KNN(), POLICY)


def test_the_area_is_one_where_the_best_score_is_had_at_the_cheapest_price() -> None:
    def point(kind: str, score: float, cost: float) -> CurvePoint:
        return CurvePoint(kind, kind, score, cost, 0.0, 0.0, 0.0)

    singles = [point("single", 0.4, 1.0), point("single", 0.8, 3.0)]
    assert gap_recovered([*singles, point("routed", 0.8, 1.0)]) == pytest.approx(1.0)
    assert gap_recovered([*singles, point("routed", 0.8, 9.0)]) == pytest.approx(0.0)
    middle = gap_recovered([*singles, point("routed", 0.8, 2.0)])
    assert middle == pytest.approx(0.5, abs=0.02)
    assert gap_recovered([point("single", 0.8, 1.0), point("single", 0.4, 3.0)]) is None


def test_the_interval_draws_whole_units() -> None:
    differences = np.array([1.0] * 20 + [0.0] * 20)
    alone = paired_interval(differences, [str(i) for i in range(40)])
    together = paired_interval(differences, ["a"] * 20 + ["b"] * 20)
    assert alone[0] == together[0] == 0.5
    assert together[2] - together[1] > 2 * (alone[2] - alone[1])
