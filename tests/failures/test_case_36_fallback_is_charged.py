"""The favourite answers rubbish, raises or runs too long: the default answers; the favourite is paid and counted."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from evolve.campaign.route import ROUTE, Wishes, route_once
from evolve.core.errors import UserError, WorldError
from evolve.core.messages import ModelRequest
from evolve.embed import open_embedder
from evolve.report.curve import curve_lines, draw_png, version_curve
from evolve.report.references import resolve_reference
from evolve.report.traffic import version_traffic
from evolve.report.why import show_version
from evolve.store import Home, open_home
from portfolios.choose import ChoiceSettings, GuardResult, choose_router
from portfolios.decision import Rule
from portfolios.edges import Edges, Query
from portfolios.matchers import KNN
from portfolios.portfolio import PortfolioMember, build_content

TEXTS = [f"please sort parcel {i} for the town of {town}" for i in range(12) for town in ("Ulm", "Jena", "Gera")]
SETTINGS = ChoiceSettings(embedding=open_embedder("fast").identity, margins=(0.0,))


@pytest.fixture
def home(tmp_path: Path) -> Any:
    opened = open_home(tmp_path / ".evolve", create=True)
    yield opened
    opened.close()


def harness(home: Home, letter: str) -> str:
    node = {"operator": "generate", "params": {"prompt": "prompts/answer.md", "parse": "json"}, "next": "end"}
    files = {
        "harness.yaml": {
            "schema": 1,
            "name": letter.lower(),
            "workflow": "workflow.yaml",
            "limits": {"timeout_seconds": 2},
        },
        "workflow.yaml": {"schema": 1, "start": "answer", "nodes": {"answer": node}},
    }
    tree = {name: yaml.safe_dump(content).encode() for name, content in files.items()}
    return home.trees.put({**tree, "prompts/answer.md": f"{letter}: answer as JSON.\n{{input}}\n".encode()})


def two_members(home: Home, costs: tuple[float, float] = (0.001, 0.002)) -> tuple[str, str]:
    """(favourite, default): the favourite is expected to score 1, the default 0.5; version parcels@1 is live."""
    favourite, default = harness(home, "A"), harness(home, "B")
    embedder = open_embedder("fast")
    queries = tuple(Query(f"c{i}", text, f"f{i:03d}", f"case:c{i}") for i, text in enumerate(TEXTS))
    scores = np.column_stack([np.ones(len(TEXTS)), np.arange(len(TEXTS)) % 2])
    edges = Edges(queries, (favourite, default), embedder.embed(TEXTS), scores, np.tile(costs, (len(TEXTS), 1)))
    choice = choose_router(
        edges,
        edges,
        matchers=[KNN()],
        seed=0,
        guard=lambda *_: GuardResult(True, 0.5, 0.4, "made up"),
        settings=SETTINGS,
    )
    router = choice.router.__class__.fit(
        choice.router.edges, KNN(), choice.router.policy.model_copy(update={"default_member": default, "margin": 0.0})
    )
    recipe = choice.recipe.model_copy(update={"matcher": "knn", "settings": dict(KNN().settings)})
    members = [PortfolioMember(tree=favourite, label="A"), PortfolioMember(tree=default, label="B")]
    kept = choice.__class__(**{**vars(choice), "router": router, "recipe": recipe})
    content, table = build_content(kept, members, {"agent": {"model": "scripted:desk"}})
    home.artifacts.put(table)
    row = home.versions.commit("parcels", content.as_json(), {}, parent=None, reason="made by a test", key="test")
    home.versions.move_pointer("parcels", "live", expected=None, to=row.number, reason="made by a test")
    return favourite, default


def script(favourite: Callable[[], str]) -> dict[str, Any]:
    def reply(request: ModelRequest, rng: random.Random) -> str:
        return favourite() if request.messages[-1].content.startswith("A:") else '{"town": "Ulm"}'

    return {"desk": reply}


def raises() -> str:
    raise WorldError("the provider broke off")


def sleeps() -> str:
    time.sleep(2.5)
    return "{}"


@pytest.mark.parametrize(("fault", "paid"), [(lambda: "no json at all", 2), (raises, 1)], ids=["rubbish", "world"])
def test_the_default_answers_and_the_failure_is_booked_and_counted(
    home: Home, fault: Callable[[], str], paid: int
) -> None:
    favourite, default = two_members(home)
    routed = route_once(home, "parcels", TEXTS[0], {}, script(fault))
    answer = routed.answer
    assert (answer.decision.member, answer.member, answer.failed) == (favourite, default, (favourite,))
    assert answer.output == {"town": "Ulm"}
    owners = [owner for owner in home.journal.owners() if owner.startswith(ROUTE)]
    booked = [row.candidate for row in home.journal.iter(owners[0])]
    assert favourite in booked and default in booked
    assert answer.spend.calls == paid
    traffic = version_traffic(home, resolve_reference(home, "parcels"))
    assert traffic.failures == {"A": 1} and traffic.shares == {"B": 1.0}


def test_a_member_past_its_time_limit_is_replaced(home: Home) -> None:
    favourite, default = two_members(home)
    answer = route_once(home, "parcels", TEXTS[0], {}, script(sleeps)).answer
    assert (answer.member, answer.failed) == (default, (favourite,))


def test_strange_queries_go_to_the_default_until_the_drift_alarm_is_heard(home: Home) -> None:
    _, default = two_members(home)
    strange = ["", "我想知道今天的天气怎么样", "x" * 4000]
    for text in strange * 3:
        answer = route_once(home, "parcels", text, {}, script(lambda: "{}")).answer
        assert answer.member == default and answer.decision.rule in (Rule.EMPTY, Rule.FAR)
    document, lines = show_version(home, "parcels")
    assert document["traffic"]["alarm"] and any("DRIFT" in line for line in lines)
    assert not any("天气" in line for line in lines)


def test_a_cost_weight_of_one_query_sends_it_to_the_cheaper_member(home: Home) -> None:
    favourite, default = two_members(home, costs=(0.004, 0.001))
    scripts = script(lambda: '{"town": "Gera"}')
    assert route_once(home, "parcels", TEXTS[1], {}, scripts).answer.member == favourite
    assert route_once(home, "parcels", TEXTS[1], {}, scripts, Wishes(cost_weight=0.9)).answer.member == default
    with pytest.raises(UserError, match="out of range"):
        route_once(home, "parcels", TEXTS[1], {}, scripts, Wishes(cost_weight=1.5))


def test_the_curve_of_a_version_is_drawn_as_text_and_picture(home: Home, tmp_path: Path) -> None:
    two_members(home, costs=(0.004, 0.001))
    found, curve, notes = version_curve(home, "parcels")
    lines = curve_lines(found, curve, notes)
    assert any("single A" in line for line in lines) and any("routed" in line and "λ = 0" in line for line in lines)
    draw_png(found, curve, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
