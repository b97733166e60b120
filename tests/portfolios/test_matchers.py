from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.core.errors import UserError
from portfolios.edges import Edges, Query
from portfolios.features import FEATURES, lexical_features
from portfolios.matchers import KNN, MATCHERS, Linear, Matcher, find_best_single, open_matcher
from portfolios.matchers.asked import Asked
from portfolios.matchers.basis import Decomposed
from portfolios.matchers.message import Messages, backward, forward, new_parameters
from portfolios.matchers.ridge import RidgeGroup

BuildWorld = Callable[..., Edges]


@pytest.fixture(params=sorted(MATCHERS))
def matcher(request: pytest.FixtureRequest) -> Matcher:
    return open_matcher(request.param)


class TestEveryMatcher:
    def test_shapes_ranges_and_neighbours(self, matcher: Matcher, topic_edges: BuildWorld) -> None:
        train, new = topic_edges(60), topic_edges(9, seed=1)
        prediction = matcher.fit(train).predict(Asked(new.embeddings, new.texts))
        assert prediction.score.shape == prediction.sd.shape == (9, 3)
        assert ((prediction.score >= 0) & (prediction.score <= 1)).all()
        assert (prediction.sd > 0).all()
        assert prediction.cost is None
        nearest = prediction.neighbours.similarities
        assert (np.diff(nearest, axis=1) <= 0).all()
        assert prediction.advantage_sd(0, 1, 1) == pytest.approx(0.0, abs=1e-9)

    def test_equal_edges_give_equal_predictions(self, matcher: Matcher, topic_edges: BuildWorld) -> None:
        train, new = topic_edges(40), topic_edges(7, seed=1)
        first, second = (matcher.fit(train).predict(Asked(new.embeddings, new.texts)) for _ in range(2))
        np.testing.assert_array_equal(first.score, second.score)
        np.testing.assert_array_equal(first.sd, second.sd)

    def test_a_member_without_edges_has_no_prediction(self, matcher: Matcher, topic_edges: BuildWorld) -> None:
        train = topic_edges(30)
        scores = train.scores.copy()
        scores[:, 1] = np.nan
        scores[::4, 2] = np.nan
        prediction = matcher.fit(replace(train, scores=scores)).predict(Asked(train.embeddings, train.texts))
        assert np.isnan(prediction.score[:, 1]).all() and np.isnan(prediction.sd[:, 1]).all()
        assert np.isfinite(prediction.score[:, [0, 2]]).all()

    def test_costs_are_learned_beside_scores(self, matcher: Matcher, topic_edges: BuildWorld) -> None:
        train = topic_edges(60)
        costs = np.tile([0.01, 0.02, 0.03], (60, 1))
        costs[5, 0] = np.nan
        prediction = matcher.fit(replace(train, costs=costs)).predict(Asked(train.embeddings, train.texts))
        assert prediction.cost is not None
        np.testing.assert_allclose(prediction.cost, np.tile([0.01, 0.02, 0.03], (60, 1)), atol=1e-3)

    @pytest.mark.parametrize("rows", [1, 2, 3])
    def test_very_few_edges_are_no_certainty(self, matcher: Matcher, topic_edges: BuildWorld, rows: int) -> None:
        train, new = topic_edges(rows), topic_edges(4, seed=2)
        prediction = matcher.fit(train).predict(Asked(new.embeddings, new.texts))
        assert np.isfinite(prediction.score).all()
        assert (prediction.sd > 0.1).all()

    def test_its_settings_build_it_again(self, matcher: Matcher) -> None:
        assert open_matcher(matcher.name, matcher.settings) == matcher


@pytest.mark.parametrize("name", sorted(set(MATCHERS) - {"graph"}))  # the members of a graph share one network
def test_a_missing_edge_of_one_member_does_not_move_the_others(name: str, topic_edges: BuildWorld) -> None:
    matcher, train = open_matcher(name), topic_edges(30)
    scores = train.scores.copy()
    scores[3, 2] = np.nan
    pair, asked = train.take(range(30), [0, 1]), Asked(train.embeddings, train.texts)
    full = matcher.fit(pair).predict(asked)
    holed = matcher.fit(replace(train, scores=scores)).predict(Asked(train.embeddings, train.texts))
    np.testing.assert_allclose(holed.score[:, :2], full.score, atol=0.05)


@pytest.mark.parametrize("name", ["knn", "linear", "factor", "graph", "stack"])
def test_a_learner_finds_the_specialist_of_each_topic(name: str, topic_edges: BuildWorld) -> None:
    train, new = topic_edges(150), topic_edges(60, seed=1)
    prediction = open_matcher(name).fit(train).predict(Asked(new.embeddings, new.texts))
    topic = np.array([int(q.case_id.split("-")[1]) % 3 for q in new.queries])
    assert (prediction.score.argmax(axis=1) == topic).mean() > 0.95


def test_uncertainty_grows_away_from_the_known(topic_edges: BuildWorld) -> None:
    train = topic_edges(60)
    strange = -train.embeddings.mean(axis=0, keepdims=True) * 3
    for matcher in (KNN(), Linear()):
        fitted = matcher.fit(train)
        known = fitted.predict(Asked(train.embeddings, train.texts)).sd.mean()
        assert fitted.predict(Asked(strange, ["ζ" * 40])).sd.min() > known


def test_knn_falls_back_to_the_mean_far_away(topic_edges: BuildWorld) -> None:
    train = topic_edges(60)
    orthogonal = np.zeros((1, 8), np.float32)
    prediction = KNN().fit(train).predict(Asked(orthogonal, ["?"]))
    np.testing.assert_allclose(prediction.score[0], train.scores.mean(axis=0))


def test_best_single_breaks_ties_by_cost_then_by_id() -> None:
    queries = (Query("a", "a", "fa", "case:a"),)
    edges = Edges(queries, ("x", "y", "z"), np.ones((1, 2), np.float32), np.array([[0.5, 0.5, 0.5]]))
    assert find_best_single(edges) == "x"
    priced = replace(edges, costs=np.array([[np.nan, 0.2, 0.1]]))
    assert find_best_single(priced) == "z", "an unknown cost comes last"
    assert find_best_single(priced, ["x", "y"]) == "y"
    with pytest.raises(UserError, match="no member has an edge"):
        find_best_single(replace(edges, scores=np.full((1, 3), np.nan)))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(6, 20), st.integers(1, 12))
def test_left_out_errors_are_those_of_refitting_without_the_row(seed: int, rows: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    design, targets = rng.normal(size=(rows, width)), rng.random((rows, 1))
    group = RidgeGroup.fit(Decomposed.of(design), targets, np.array([0]))[0]
    kept = np.arange(1, rows)
    x, y = design[kept] - design[kept].mean(axis=0), targets[kept] - targets[kept].mean(axis=0)
    if np.isfinite(group.penalty):
        # Leaving a row out moves the centre too; the hat matrix with its 1/n accounts for that exactly.
        beta = np.linalg.solve(x.T @ x + group.penalty * np.eye(width), x.T @ y)
        guess = targets[kept].mean(axis=0) + (design[0] - design[kept].mean(axis=0)) @ beta
        centred = design - design.mean(axis=0)
        hat = 1 / rows + centred @ np.linalg.solve(centred.T @ centred + group.penalty * np.eye(width), centred.T)
        fitted = targets.mean() + (hat - 1 / rows) @ (targets - targets.mean())
        assert (targets[0] - fitted[0]) / (1 - hat[0, 0]) == pytest.approx(targets[0] - guess, abs=1e-8)


def test_ridge_shrinks_noise_to_the_mean() -> None:
    rng = np.random.default_rng(0)
    design, targets = rng.normal(size=(80, 40)), rng.random((80, 1))
    new = rng.normal(size=(50, 40))
    decomposed = Decomposed.of(design)
    mean = RidgeGroup.fit(decomposed, targets, np.array([0]))[0].mean(decomposed.basis.coordinates(new))
    plain = new @ np.linalg.lstsq(design, targets - targets.mean(), rcond=None)[0]
    assert mean.std() < 0.5 * plain.std()


@given(st.text(max_size=200))
def test_features_are_finite_for_any_text(text: str) -> None:
    found = lexical_features([text])
    assert found.shape == (1, len(FEATURES))
    assert np.isfinite(found).all()


def test_features_see_numbers_money_and_code() -> None:
    row = dict(zip(FEATURES, lexical_features(["What is 12% of $3,400?"])[0], strict=True))
    assert row["numbers"] == pytest.approx(np.log1p(2))
    assert row["currency_signs"] == row["percent_signs"] == row["question_marks"] == pytest.approx(np.log1p(1))
    assert row["starts_with_question_word"] == 1.0
    assert dict(zip(FEATURES, lexical_features(["x = f(1);"])[0], strict=True))["code_marks"] > 0


@pytest.mark.parametrize(
    ("name", "options", "word"),
    [
        ("knnn", {}, "did you mean knn"),
        ("knn", {"kk": 3}, "k, power, shrink"),
        ("knn", {"k": 0}, "k >= 1"),
        ("knn", {"k": True}, "numbers"),
        ("linear", {"family_weight": 1.0}, "numbers: none"),
        ("stack", {"knn": -0.5}, "between 0 and 10"),
        ("factor", {"rank": 0}, "rank >= 1"),
        ("family", {"shrink": 0}, "shrink > 0"),
    ],
)
def test_wrong_names_and_settings_are_refused(name: str, options: dict[str, object], word: str) -> None:
    with pytest.raises(UserError, match=word):
        open_matcher(name, options)


def test_the_gradient_of_the_graph_network_is_that_of_finite_differences() -> None:
    rng = np.random.default_rng(3)
    scores = rng.random((9, 3))
    scores[2, 1] = np.nan
    known, asked = Messages.of(rng.normal(size=(9, 5)), scores, np.nanmean(scores, axis=0)), rng.normal(size=(4, 5))
    weights = rng.normal(size=(4, 3))
    parameters = new_parameters(5, 3, 6, rng)
    found = backward(parameters, known, asked, forward(parameters, known, asked), weights)
    for name, value in parameters.items():
        for place in list(np.ndindex(value.shape))[:: max(1, value.size // 7)]:
            sides = []
            for step in (1e-6, -1e-6):
                moved = {**parameters, name: value.copy()}
                moved[name][place] += step
                sides.append(float((forward(moved, known, asked).logits * weights).sum()))
            assert found[name][place] == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-4, abs=1e-6), name
