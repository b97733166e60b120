from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from evolve.core.errors import UserError
from portfolios.choose import ChoiceSettings, Guard, GuardResult, choose_router
from portfolios.edges import Edges
from portfolios.matchers import KNN, BestSingle, Linear

BuildWorld = Callable[..., Edges]
SETTINGS = ChoiceSettings(embedding="test")
MATCHERS = (KNN(), Linear())


def never(routed: Sequence[float], single: Sequence[float], units: Sequence[str]) -> GuardResult:
    return GuardResult(False, 0.0, -1.0, "it never passes")


def test_complementary_members_are_routed(topic_edges: BuildWorld, normal_guard: Guard) -> None:
    train, dev = topic_edges(150), topic_edges(90, seed=1)
    choice = choose_router(train, dev, matchers=MATCHERS, seed=7, guard=normal_guard, settings=SETTINGS)
    assert choice.routes
    assert choice.guard is not None and choice.guard.passed
    assert choice.routed_mean > choice.best_single_mean + 0.2
    assert choice.oracle_mean >= choice.routed_mean
    assert choice.recipe.edge_set_hash == train.edge_set_hash
    assert (choice.recipe.embedding, choice.recipe.seed) == ("test", 7)
    assert "let it through" in choice.reason


def test_without_the_guards_word_the_best_single_serves(topic_edges: BuildWorld) -> None:
    train, dev = topic_edges(150), topic_edges(90, seed=1)
    choice = choose_router(train, dev, matchers=MATCHERS, seed=0, guard=never, settings=SETTINGS)
    assert not choice.routes
    assert choice.recipe.matcher == "best_single"
    assert choice.router.policy.default_member == choice.best_single
    assert f"{100 * choice.routed_mean:.1f} points" in choice.reason
    assert f"{100 * choice.best_single_mean:.1f}" in choice.reason
    assert "it never passes" in choice.reason
    assert {d.member for d in choice.router.decide_many(dev.texts, dev.embeddings)} == {choice.best_single}


def test_a_dominating_member_is_left_alone(topic_edges: BuildWorld, normal_guard: Guard) -> None:
    def dominated(rows: int, seed: int) -> Edges:
        edges = topic_edges(rows, seed=seed, skill=0.5, rest=0.5)
        scores = edges.scores.copy()
        scores[:, 1] = np.maximum(scores.max(axis=1), np.random.default_rng(seed).random(rows) < 0.8)
        return replace(edges, scores=scores)

    choice = choose_router(
        dominated(120, 0), dominated(60, 1), matchers=MATCHERS, seed=0, guard=normal_guard, settings=SETTINGS
    )
    assert choice.best_single == "tree-1"
    assert not choice.routes


def test_the_best_single_is_the_best_on_dev(topic_edges: BuildWorld) -> None:
    train, dev = topic_edges(30), topic_edges(30, seed=1)
    train = replace(train, scores=np.tile([1.0, 0.0, 0.5], (30, 1)))
    dev = replace(dev, scores=np.tile([0.0, 0.2, 0.7], (30, 1)))
    choice = choose_router(train, dev, matchers=(), seed=0, guard=never, settings=SETTINGS)
    assert choice.best_single == "tree-2"
    assert choice.guard is None
    assert "no matcher was tried" in choice.reason


def test_a_member_without_train_edges_is_not_the_best_single(topic_edges: BuildWorld) -> None:
    train, dev = topic_edges(30), topic_edges(30, seed=1)
    scores = train.scores.copy()
    scores[:, 2] = np.nan
    dev = replace(dev, scores=np.tile([0.1, 0.2, 1.0], (30, 1)))
    choice = choose_router(
        replace(train, scores=scores), dev, matchers=MATCHERS, seed=0, guard=never, settings=SETTINGS
    )
    assert choice.best_single == "tree-1"


def test_the_guard_sees_one_order_that_the_seed_fixes(topic_edges: BuildWorld) -> None:
    train, dev = topic_edges(90), topic_edges(60, seed=1)
    seen: list[tuple[str, ...]] = []

    def note(routed: Sequence[float], single: Sequence[float], units: Sequence[str]) -> GuardResult:
        seen.append(tuple(units))
        return GuardResult(True, 0.0, 0.0, "noted")

    shuffled = dev.take(list(reversed(range(60))), [2, 1, 0])
    for rows, seed in ((dev, 3), (shuffled, 3), (dev, 4)):
        choose_router(train, rows, matchers=MATCHERS, seed=seed, guard=note, settings=SETTINGS)
    assert seen[0] == seen[1] != seen[2]
    assert sorted(seen[0]) == sorted(seen[2]) == sorted(dev.units)


def test_missing_dev_pairs_count_against_the_router(topic_edges: BuildWorld) -> None:
    train, dev = topic_edges(150), topic_edges(90, seed=1)
    pairs: list[tuple[Sequence[float], Sequence[float]]] = []

    def note(routed: Sequence[float], single: Sequence[float], units: Sequence[str]) -> GuardResult:
        pairs.append((routed, single))
        return GuardResult(True, 0.0, 0.0, "noted")

    scores = dev.scores.copy()
    scores[:30] = np.nan
    choice = choose_router(train, replace(dev, scores=scores), matchers=MATCHERS, seed=0, guard=note, settings=SETTINGS)
    assert choice.missing == 30
    routed, single = pairs[0]
    lost = sum(a == 0.0 and b == 1.0 for a, b in zip(routed, single, strict=True))
    moved = sum(d.member != choice.best_single for d in choice.router.decide_many(dev.texts[:30], dev.embeddings[:30]))
    assert moved > 0
    assert lost >= moved


def test_one_member_needs_no_guard(topic_edges: BuildWorld) -> None:
    train, dev = topic_edges(9, members=1), topic_edges(9, seed=1, members=1)
    choice = choose_router(train, dev, matchers=(BestSingle(), *MATCHERS), seed=0, guard=never, settings=SETTINGS)
    assert (choice.best_single, choice.guard, choice.trials) == ("tree-0", None, ())


def test_what_dev_lacks_is_named(topic_edges: BuildWorld) -> None:
    train = topic_edges(9)
    with pytest.raises(UserError, match="no dev cases"):
        choose_router(train, train.take([], [0, 1, 2]), matchers=(), seed=0, guard=never, settings=SETTINGS)
    with pytest.raises(UserError, match="tree-2"):
        choose_router(train, train.take(range(9), [0, 1]), matchers=(), seed=0, guard=never, settings=SETTINGS)
