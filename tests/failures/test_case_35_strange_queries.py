"""Queries in another language, ten times longer, or empty go to the default, and say why."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from evolve.core.cases import Case
from evolve.core.scores import Result, Score, Scorecard
from evolve.core.traces import RunStatus
from evolve.embed import open_embedder
from portfolios.decision import Rule
from portfolios.edges import Edges
from portfolios.matchers import KNN, Linear, Matcher
from portfolios.recipe import RouterPolicy
from portfolios.router import Router

THINGS = ("apples", "pears", "coins", "tickets", "bottles", "stamps", "chairs", "letters")
QUESTIONS = [
    f"A shop has {5 * i} {a} and sells {i} {a} and {b}. How many {a} are left?"
    for i in range(5)
    for a, b in pairwise(THINGS)
]
REVIEWS = [
    f"I really {verb} this film about {a} and {b}: positive or negative?"
    for verb in ("loved", "hated", "enjoyed")
    for a, b in zip(THINGS, THINGS[2:], strict=False)
]


@pytest.fixture(scope="module", params=[KNN(), Linear()], ids=lambda matcher: str(matcher.name))
def router(request: pytest.FixtureRequest) -> Router:
    matcher: Matcher = request.param
    cases = [Case(f"c{i}", text) for i, text in enumerate([*QUESTIONS, *REVIEWS])]
    embedder = open_embedder("fast")

    def card(tree: str, good: list[str]) -> Scorecard:
        rows = {(c.id, 0): Result(c.id, 0, RunStatus.FINISHED, Score(float(c.text in good))) for c in cases}
        return Scorecard(tree, rows)

    cards = [card("sums", QUESTIONS), card("opinions", REVIEWS)]
    edges = Edges.build(cases, cards, embedder.embed([c.text for c in cases]))
    fitted = Router.fit(edges, matcher, RouterPolicy(default_member="sums"))
    return Router(**{**vars(fitted), "embedder": embedder})


@pytest.mark.parametrize("about", ["coins and stamps", "tickets and dragons"])
def test_familiar_queries_are_routed(router: Router, about: str) -> None:
    decision = router.decide(f"I really enjoyed this film about {about}: positive or negative?")
    assert (decision.member, decision.rule) == ("opinions", Rule.MATCHER)


@pytest.mark.parametrize(
    "text",
    [
        "我非常喜欢这部关于硬币的电影：正面还是负面？",
        "Мне очень понравился этот фильм про монеты и марки",
        "Ce film sur les timbres m'a beaucoup plu, avis favorable ou défavorable ?",
        "Dieser Film über Münzen hat mir sehr gefallen, gut oder schlecht?",
        "I really loved this film about apples and coins: positive or negative? " * 10,
        "\u202eأحببت هذا الفيلم كثيرا",
        "🎬🎬🎬 ❤️❤️❤️",
    ],
)
def test_strange_queries_go_to_the_default(router: Router, text: str) -> None:
    decision = router.decide(text)
    assert (decision.member, decision.rule) == ("sums", Rule.FAR)
    assert "far from everything seen" in decision.reason


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_empty_queries_go_to_the_default(router: Router, text: str) -> None:
    decision = router.decide(text)
    assert (decision.member, decision.rule) == ("sums", Rule.EMPTY)
    assert np.isfinite([e.score for e in decision.estimates if e.score is not None]).all()
