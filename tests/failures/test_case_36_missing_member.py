"""The favourite fails, or was removed: others follow in a known order, and nothing dangles."""

from __future__ import annotations

import numpy as np
import pytest

from evolve.core.errors import UserError
from portfolios.edges import Edges, Query
from portfolios.matchers import KNN
from portfolios.portfolio import PortfolioContent, PortfolioMember, parse_content
from portfolios.recipe import RouterPolicy, RouterRecipe
from portfolios.router import Router

SCORES = np.tile([0.2, 0.9, 0.6, 0.4], (40, 1))


def edges() -> Edges:
    rng = np.random.default_rng(0)
    queries = tuple(Query(f"c{i}", f"case number {i}", f"f{i:02d}", f"case:c{i}") for i in range(40))
    vectors = (np.ones((40, 6)) + 0.05 * rng.normal(size=(40, 6))).astype(np.float32)
    return Edges(queries, ("a", "b", "c", "d"), vectors / np.linalg.norm(vectors, axis=1, keepdims=True), SCORES)


def test_the_default_then_the_next_best_follow_a_failing_favourite() -> None:
    known = edges()
    router = Router.fit(known, KNN(), RouterPolicy(default_member="d"))
    decision = router.decide(known.texts[3], known.embeddings[3])
    assert (decision.member, decision.fallbacks) == ("b", ("d", "c", "a"))


def test_a_version_that_names_a_removed_member_is_refused() -> None:
    recipe = RouterRecipe(matcher="knn", settings={}, seed=0, embedding="e", edge_set_hash="h")
    whole = PortfolioContent(
        members=tuple(PortfolioMember(tree=t) for t in "abcd"),
        router=recipe,
        policy=RouterPolicy(default_member="d"),
        edges_sha="s",
    )
    document = whole.as_json()
    document["members"] = [m for m in document["members"] if m["tree"] != "d"]
    with pytest.raises(UserError, match="the default member d is not a member"):
        parse_content(document)


def test_a_router_refuses_a_default_that_is_gone() -> None:
    with pytest.raises(UserError, match="default member b"):
        Router.fit(edges().of_members(["a", "c", "d"]), KNN(), RouterPolicy(default_member="b"))
