import json
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from evolve.core.errors import UserError
from portfolios.choose import ChoiceSettings, Guard, choose_router
from portfolios.edges import Edges
from portfolios.matchers import KNN, Linear
from portfolios.portfolio import (
    PortfolioContent,
    PortfolioMember,
    build_content,
    open_router,
    parse_content,
    remove_member,
)
from portfolios.recipe import RouterPolicy, RouterRecipe

BuildWorld = Callable[..., Edges]


class Letters:
    """An embedder by counts of letters, eight buckets."""

    identity = "letters"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        counts = np.array([[sum(ord(c) % 8 == k for c in text) for k in range(8)] for text in texts], np.float32)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


Built = tuple[PortfolioContent, bytes, Edges]


@pytest.fixture
def built(topic_edges: BuildWorld, normal_guard: Guard) -> Built:
    train, dev = topic_edges(120), topic_edges(60, seed=1)
    choice = choose_router(
        train,
        dev,
        matchers=[KNN(), Linear()],
        seed=0,
        guard=normal_guard,
        settings=ChoiceSettings(embedding=Letters.identity),
    )
    assert choice.routes
    members = [PortfolioMember(tree=t, label=f"label {t}", role="adds 9 points") for t in train.members]
    content, data = build_content(choice, members)
    return content, data, dev


def content(trees: Sequence[str], default: str, **changes: object) -> PortfolioContent:
    recipe = RouterRecipe(matcher="knn", settings={"k": 5}, seed=0, embedding="e", edge_set_hash="h")
    fields: dict[str, object] = {"router": recipe, "policy": RouterPolicy(default_member=default), "edges_sha": "s"}
    members = tuple(PortfolioMember(tree=t, label=f"l{i}") for i, t in enumerate(trees))
    return PortfolioContent.model_validate({"members": members, **fields, **changes})


@given(st.permutations(["a", "b", "c", "d"]))
def test_the_hash_ignores_the_order_and_labels_of_members(trees: list[str]) -> None:
    assert content(trees, "b").content_hash() == content(["a", "b", "c", "d"], "b").content_hash()


def test_the_hash_sees_members_recipe_and_policy() -> None:
    base = content(["a", "b"], "a")
    recipe = base.router.model_copy(update={"settings": {"k": 6}})
    others = [content(["a", "c"], "a"), content(["a", "b"], "b"), content(["a", "b"], "a", router=recipe)]
    assert len({c.content_hash() for c in [base, *others]}) == 4
    assert content(["a", "b"], "a", edges_sha="other").content_hash() == base.content_hash()


def test_a_version_opens_to_the_same_router(built: Built) -> None:
    made, data, dev = built
    read = parse_content(json.loads(json.dumps(made.as_json())))
    assert read == made and read.content_hash() == made.content_hash()
    assert made.as_json()["schema"] == 1
    first, second = (open_router(c, data, Letters()).decide_many(dev.texts, dev.embeddings) for c in (made, read))
    assert first == second
    assert len({d.member for d in first}) == 3


def test_an_opened_router_embeds_for_itself_and_names_members_by_label(built: Built) -> None:
    made, data, _ = built
    decision = open_router(made, data, Letters()).decide("what is the sum of 3 and 4 apples")
    assert "label tree-" in decision.reason


def test_a_removed_member_gets_no_decision(built: Built) -> None:
    made, data, dev = built
    for tree in made.trees:
        heir = next(t for t in made.trees if t != tree)
        smaller, table = remove_member(made, data, tree, default=heir)
        assert tree not in smaller.trees
        for decision in open_router(smaller, table, Letters()).decide_many(dev.texts, dev.embeddings):
            assert tree not in (decision.member, *decision.fallbacks, *(e.member for e in decision.estimates))
        assert smaller.content_hash() != made.content_hash()


def test_removing_the_default_needs_an_heir(built: Built) -> None:
    made, data, _ = built
    default = made.policy.default_member
    with pytest.raises(UserError, match=default):
        remove_member(made, data, default)
    with pytest.raises(UserError, match="is not a member"):
        remove_member(made, data, "unknown")


def test_a_dangling_member_is_named(built: Built) -> None:
    made, data, _ = built
    rest = [m for m in made.as_json()["members"] if m["tree"] != made.policy.default_member]
    with pytest.raises(UserError, match=made.policy.default_member):
        parse_content({**made.as_json(), "members": rest})
    gone = next(t for t in made.trees if t != made.policy.default_member)
    kept = [m for m in made.as_json()["members"] if m["tree"] != gone]
    with pytest.raises(UserError, match=f"{gone} has edges but is no member"):
        open_router(parse_content({**made.as_json(), "members": kept}), data, Letters())


def test_wrong_table_and_wrong_embedder_are_refused(built: Built, topic_edges: BuildWorld) -> None:
    made, data, _ = built

    class Other(Letters):
        identity = "other"

    with pytest.raises(UserError, match="letters, not other"):
        open_router(made, data, Other())
    with pytest.raises(UserError, match="not the edge table"):
        open_router(made, topic_edges(5).to_bytes(), Letters())


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"extra": 1}, "extra"),
        ({"members": []}, "members"),
        ({"schema": 2}, "schema"),
        ({"edges_sha": None}, "edges_sha"),
    ],
)
def test_wrong_content_is_refused_by_name(change: dict[str, object], word: str) -> None:
    with pytest.raises(UserError, match=word):
        parse_content({**content(["a"], "a").as_json(), **change})


def test_it_describes_itself(built: Built) -> None:
    lines = built[0].describe().splitlines()
    assert len(lines) == 4
    assert sum("(default)" in line for line in lines) == 1
    assert "adds 9 points" in lines[0]
    assert "routed by" in lines[-1]
