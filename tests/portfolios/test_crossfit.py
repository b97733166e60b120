from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from evolve.core.errors import UserError
from portfolios.choose import ChoiceSettings, Guard, cross_fit_router
from portfolios.crossfit import folds_of, weights_of, weights_without
from portfolios.edges import Edges, Query
from portfolios.matchers import KNN, Family, Stack
from portfolios.matchers.asked import Asked
from portfolios.matchers.stack import BASES, learn_weights
from portfolios.thrift import thriftiest, tradeoffs

BuildWorld = Callable[..., Edges]
SETTINGS = ChoiceSettings(embedding="test")


def in_groups(edges: Edges, size: int) -> Edges:
    queries = tuple(replace(q, unit=f"group:{i // size}") for i, q in enumerate(edges.queries))
    return replace(edges, queries=queries)


def with_families(edges: Edges) -> Edges:
    named = tuple(replace(q, family=f"topic {int(q.case_id.split('-')[1]) % 3}") for q in edges.queries)
    return replace(edges, queries=named)


def test_folds_hold_whole_units_and_every_query_is_left_out_once(topic_edges: BuildWorld) -> None:
    edges = in_groups(topic_edges(60), 4)
    folds = folds_of(edges, 5, seed=1)
    left_out = [query.case_id for fold in folds for query in fold.test.queries]
    assert sorted(left_out) == sorted(query.case_id for query in edges.queries)
    for fold in folds:
        assert not set(fold.fit.units) & set(fold.test.units)


def test_the_weights_of_a_fold_do_not_depend_on_its_own_scores(topic_edges: BuildWorld) -> None:
    edges = topic_edges(60)
    folds = folds_of(edges, 3, seed=0)
    before = weights_without(folds)[0]
    turned = replace(folds[0], test=replace(folds[0].test, scores=1.0 - folds[0].test.scores))
    # The other folds were fitted on rows of the first one, so only the fold's own predictions are held fixed here.
    assert weights_without([turned, *folds[1:]])[0] == before
    assert weights_of([turned, *folds[1:]]) != weights_of(folds)


def test_weights_find_the_prediction_that_tells_members_apart() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((200, 3))
    good, noise = scores + 0.1 * rng.normal(size=scores.shape), rng.random((200, 3))
    weights = learn_weights(np.zeros_like(scores), {"good": good, "noise": noise}, scores)
    assert weights["good"] > 0.8 and weights["noise"] < 0.05


def test_what_moves_all_members_alike_earns_no_weight() -> None:
    rng = np.random.default_rng(0)
    hard = rng.random((200, 1))
    scores = np.clip(hard + 0.05 * rng.normal(size=(200, 3)), 0, 1)
    weights = learn_weights(np.full_like(scores, 0.5), {"difficulty": np.tile(hard, (1, 3))}, scores)
    assert weights["difficulty"] == 0.0


def test_cross_fitting_routes_to_specialists_and_keeps_its_weights_in_the_recipe(
    topic_edges: BuildWorld, normal_guard: Guard
) -> None:
    edges = topic_edges(150)
    choice = cross_fit_router(edges, matchers=[Stack()], seed=3, guard=normal_guard, settings=SETTINGS)
    assert choice.routes and choice.recipe.matcher == "stack"
    assert set(choice.recipe.settings) == set(BASES)
    assert choice.routed_mean > choice.best_single_mean + 0.2
    new = topic_edges(60, seed=5)
    decisions = choice.router.decide_many(new.texts, new.embeddings)
    right = [
        d.member == f"tree-{int(q.case_id.split('-')[1]) % 3}" for d, q in zip(decisions, new.queries, strict=True)
    ]
    assert np.mean(right) > 0.9


def test_one_dominant_member_is_left_to_serve_alone(topic_edges: BuildWorld, normal_guard: Guard) -> None:
    edges = topic_edges(150)
    scores = edges.scores * 0.5
    scores[:, 1] = 1.0
    choice = cross_fit_router(
        replace(edges, scores=scores), matchers=[Stack(), KNN()], seed=3, guard=normal_guard, settings=SETTINGS
    )
    assert not choice.routes
    assert choice.best_single == "tree-1"


def test_a_single_unit_cannot_be_cross_fitted(topic_edges: BuildWorld, normal_guard: Guard) -> None:
    with pytest.raises(UserError, match="one unit"):
        cross_fit_router(
            in_groups(topic_edges(12), 12), matchers=[KNN()], seed=0, guard=normal_guard, settings=SETTINGS
        )


def test_named_families_are_inferred_from_the_text_alone(topic_edges: BuildWorld) -> None:
    known, new = with_families(topic_edges(120)), topic_edges(60, seed=2)
    prediction = Family().fit(known).predict(Asked(new.embeddings, new.texts))
    topic = np.array([int(q.case_id.split("-")[1]) % 3 for q in new.queries])
    assert (prediction.score.argmax(axis=1) == topic).mean() > 0.95


def test_families_change_the_edge_set_hash_and_survive_the_bytes(topic_edges: BuildWorld) -> None:
    plain = topic_edges(12)
    named = with_families(plain)
    assert plain.edge_set_hash != named.edge_set_hash
    assert Edges.from_bytes(named.to_bytes()).queries == named.queries
    assert Edges.from_bytes(plain.to_bytes()).queries[0] == plain.queries[0]
    assert isinstance(named.queries[0], Query)


def test_thrift_saves_where_it_costs_nothing(topic_edges: BuildWorld, normal_guard: Guard) -> None:
    edges = topic_edges(200, skill=0.9, rest=0.88)
    costs = np.tile([0.010, 0.002, 0.010], (200, 1))
    edges = replace(edges, costs=costs)
    choice = cross_fit_router(edges, matchers=[Stack()], seed=0, guard=normal_guard, settings=SETTINGS)
    points = tradeoffs(choice.unseen, Stack(), edges.members.index(choice.best_single), 0.0)
    assert [point.cost_weight for point in points] == sorted(point.cost_weight for point in points)
    assert points[-1].cost is not None and points[-1].cost == pytest.approx(0.002)
    best = thriftiest(points, choice.best_single_mean - 0.05)
    assert best is not None and best.cost is not None and best.cost < 0.006
    assert thriftiest(points, 1.1) is None


def test_thrift_without_known_costs_has_nothing_to_offer(topic_edges: BuildWorld, normal_guard: Guard) -> None:
    choice = cross_fit_router(topic_edges(60), matchers=[KNN()], seed=0, guard=normal_guard, settings=SETTINGS)
    points = tradeoffs(choice.unseen, KNN(), 0, 1.0)
    assert thriftiest(points, 0.0) is None


def test_with_a_cost_weight_the_guard_judges_value_instead_of_score(
    topic_edges: BuildWorld, normal_guard: Guard
) -> None:
    edges = topic_edges(200, skill=0.9, rest=0.88)
    edges = replace(edges, costs=np.tile([0.010, 0.001, 0.010], (200, 1)))
    scores = edges.scores.copy()
    scores[:, 1] *= 0.95
    thrifty = replace(SETTINGS, cost_weight=0.5)
    choice = cross_fit_router(
        replace(edges, scores=scores), matchers=[Stack()], seed=0, guard=normal_guard, settings=thrifty
    )
    assert choice.routes and choice.router.policy.cost_weight == 0.5
    assert choice.router.decide(edges.texts[0], edges.embeddings[0]).member == "tree-1"
