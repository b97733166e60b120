"""Case 21: the same campaign one call at a time, sixteen at a time, and through adaptive slots with a provider that
refuses now and then: whatever the order in which answers come, what is found, decided and paid is the same."""

from __future__ import annotations

import asyncio
import importlib.util
import random
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from evolve.books import Slots
from evolve.campaign import roles
from evolve.campaign.observe import silent
from evolve.campaign.run import load_inputs, start_campaign
from evolve.core.errors import WorldError
from evolve.core.messages import Capability, Model, ModelReply, ModelRequest
from evolve.core.traces import Spend
from evolve.models import AdaptiveSlots, FixedSlots, ModelSettings, OpenedModel, RetryPolicy, ScriptedModel
from evolve.store import Home, open_home
from portfolios.portfolio import parse_content

SPEC = importlib.util.spec_from_file_location("parallel_project", Path(__file__).parents[1] / "e2e" / "conftest.py")
assert SPEC and SPEC.loader
small = importlib.util.module_from_spec(SPEC)
sys.modules["parallel_project"] = small
SPEC.loader.exec_module(small)

ROWS = 80


class Unsteady:
    """A model that takes another random time for each call and, with a chance, refuses one that it answers later."""

    def __init__(self, inner: Model, rng: random.Random, refuses: float) -> None:
        self._inner, self._rng, self._refuses = inner, rng, refuses
        self.finished: list[str] = []
        self.in_flight = self.most = 0

    @property
    def identity(self) -> str:
        return self._inner.identity

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self._inner.capabilities

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            await asyncio.sleep(self._rng.random() * 0.004)
            if self._rng.random() < self._refuses:
                raise WorldError("429: busy", retry_after=0.01)
            self.finished.append(request.request_hash)
            return await self._inner.reply(request)
        finally:
            self.in_flight -= 1

    async def close(self) -> None:
        await self._inner.close()


class Way:
    """How the calls of one campaign are made."""

    def __init__(self, lanes: int, slots: Callable[[], Slots], latencies: int, refuses: float = 0.0) -> None:
        self.lanes, self.slots, self.latencies, self.refuses = lanes, slots, latencies, refuses
        self.model: Unsteady | None = None
        self.opened: OpenedModel | None = None

    def open(self, settings: ModelSettings, *, scripted: Mapping[str, Any], **_: Any) -> OpenedModel:
        script = ScriptedModel(settings.name, scripted[settings.name], seed=7)
        self.model = Unsteady(script, random.Random(self.latencies), self.refuses)
        policy = RetryPolicy(attempts=12, first_wait=0.005, longest_wait=0.02, jitter=0.005)
        self.opened = OpenedModel(self.model, self.slots(), policy)
        return self.opened


def challenger_hash(home: Home, artifact: str) -> str:
    """The artifact itself also says with how many lanes a version is to be served, which differs here on purpose."""
    return parse_content(home.artifacts.get_json(artifact)).content_hash()


def found(home: Home, campaign: str) -> dict[str, Any]:
    """All that must not depend on the order of answers."""
    version = home.versions.get("small", home.versions.pointer("small") or 0)

    def spend(part: Any) -> dict[str, Spend]:
        return dict(home.journal.spend_by(campaign, part))

    return {
        "version": version.content_hash,
        "ledger": [
            (row.kind, challenger_hash(home, row.subject) if row.kind == "verdict" else row.subject, dict(row.detail))
            for row in home.ledger.rows(campaign)
            if row.kind != "concurrency"
        ],
        "spend": [spend(part) for part in ("loop", "role", "candidate")],
    }


def run(way: Way, folder: Path, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    project = small.write_project(folder, ROWS)
    project.edit(
        models={"agent": {"model": "scripted:desk", "concurrency": way.lanes}},
        portfolio={"name": "small", "fit_cases": 24, "embedder": "fast"},
    )
    patch.setattr(roles, "open_model", way.open)
    with closing(open_home(project.home, create=True)) as home:
        inputs = load_inputs(project.campaign, {}, project.scripts())
        outcome = asyncio.run(start_campaign(inputs, home, silent, path=project.campaign))
        assert outcome.status == "finished"
        return found(home, outcome.campaign)


def test_one_way_and_sixteen_way_find_decide_and_pay_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Way(1, lambda: FixedSlots(1), latencies=1)
    sixteen = Way(16, lambda: FixedSlots(16), latencies=2)
    adaptive = Way(16, lambda: AdaptiveSlots(16), latencies=3, refuses=0.03)
    ends = [run(way, tmp_path / str(number), monkeypatch) for number, way in enumerate((one, sixteen, adaptive))]
    assert one.model and sixteen.model and adaptive.model and adaptive.opened
    assert (one.model.most, sixteen.model.most) == (1, 16)
    assert one.model.finished != sixteen.model.finished, "the order of answers must have differed for this to say much"
    assert sorted(one.model.finished) == sorted(sixteen.model.finished) == sorted(adaptive.model.finished)
    assert isinstance(adaptive.opened.slots, AdaptiveSlots)
    assert adaptive.opened.slots.state().refusals > 5
    for end in ends[1:]:
        assert [row[:2] for row in end["ledger"]] == [row[:2] for row in ends[0]["ledger"]]
        for row, first in zip(end["ledger"], ends[0]["ledger"], strict=True):
            assert row == first
        assert end == ends[0]
    assert any(kind == "verdict" for kind, *_ in ends[0]["ledger"])
