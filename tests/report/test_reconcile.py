"""`evolve doctor --deep`: sound books reconcile, and every kind of tampering is found and named."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from evolve.books import Books, Caps, Owner, PriceBook
from evolve.campaign.observe import silent
from evolve.campaign.run import load_inputs, start_campaign
from evolve.core.messages import Capability, Message, ModelReply, ModelRequest, Usage
from evolve.report.reconcile import reconcile
from evolve.store import CallStart, Home, open_home
from tests.e2e.conftest import write_project

RAW = {
    "openai": {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}},
    "anthropic": {
        "input_tokens": 10,
        "cache_read_input_tokens": 60,
        "cache_creation_input_tokens": 30,
        "output_tokens": 7,
    },
}
MODELS = {"openai": "openai:gpt-4o-mini", "anthropic": "anthropic:claude-sonnet-4-5"}


class Told:
    """A provider whose own account of each call is kept."""

    capabilities: frozenset[Capability] = frozenset()

    def __init__(self, provider: str) -> None:
        self.identity = MODELS[provider]
        self._raw = RAW[provider]
        self._usage = Usage(100, 7, 60, 30 if provider == "anthropic" else 0)

    async def reply(self, request: ModelRequest) -> ModelReply:
        return ModelReply("x", self._usage, raw_usage=self._raw)

    async def close(self) -> None:
        """Nothing to end."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a finished campaign and calls of both wire forms."""
    project = write_project(tmp_path_factory.mktemp("books") / "p", 120)
    home = open_home(project.home, create=True)
    inputs = load_inputs(project.campaign, {}, project.scripts())
    asyncio.run(start_campaign(inputs, home, silent, path=project.campaign))

    async def ask() -> None:
        books = Books(home, "route:x", Caps(), PriceBook())
        for provider in RAW:
            model = books.model(Told(provider), Owner("route:x", "route", "t", provider, 0, "agent"))
            await model.reply(ModelRequest((Message("user", "q" * 400),)))

    asyncio.run(ask())
    home.close()
    return project.home


@pytest.fixture
def home(finished: Path, tmp_path: Path) -> Iterator[Home]:
    shutil.copytree(finished, tmp_path / "home")
    opened = open_home(tmp_path / "home")
    yield opened
    opened.close()


def change(home: Home, statement: str) -> None:
    with home.database.write() as connection:
        assert connection.execute(text(statement)).rowcount >= 1, statement


def findings(home: Home) -> str:
    return "\n".join(f"{item.where}: {item.what}" for item in reconcile(home))


def test_sound_books_reconcile(home: Home) -> None:
    assert findings(home) == ""


ONE_CALL = "(SELECT id FROM calls WHERE campaign = 'route:x' AND \"case\" = '{}')"
TAMPERINGS = {
    "openai tokens": (
        "UPDATE call_ends SET cached_tokens = 59 WHERE id IN " + ONE_CALL.format("openai"),
        "provider said",
    ),
    "anthropic tokens": (
        "UPDATE call_ends SET prompt_tokens = 10 WHERE id IN " + ONE_CALL.format("anthropic"),
        "provider said",
    ),
    "dollars": ("UPDATE call_ends SET usd = '0.000001' WHERE id IN " + ONE_CALL.format("openai"), "no pinned price"),
    "unpriced": ("UPDATE call_ends SET usd = NULL WHERE id IN " + ONE_CALL.format("anthropic"), "no pinned price"),
    "a campaign's call": (
        "UPDATE call_ends SET usd = '0.5' WHERE id = (SELECT min(id) FROM calls WHERE campaign = 'small-1')",
        "small-1 call",
    ),
    "a result's cost": (
        "UPDATE results SET result = json_set(result, '$.calls', 99) WHERE key = (SELECT min(key) FROM results)",
        "claims (99",
    ),
    "calls that are gone": ("DELETE FROM calls WHERE campaign = 'small-1' AND loop = 'gate'", "the journal holds (0"),
    "an unreserved look": ("DELETE FROM alpha_reservations", "no error budget was reserved"),
    "a lost edge table": ("DELETE FROM artifacts", "cannot be read back"),
    "a cap": (
        "UPDATE ledger SET detail = json_set(detail, '$.caps.calls', 3) WHERE kind = 'terms'",
        "more than any cap",
    ),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_what_does_not_add_up_is_named(name: str, home: Home) -> None:
    statement, words = TAMPERINGS[name]
    change(home, statement)
    assert words in findings(home)


async def test_calls_in_flight_of_a_dead_process_are_listed(home: Home) -> None:
    start = CallStart("f" * 32, "k", "small-1", "gate", "t", "c", 0, "agent", "s", "m", "h", None, None, 5, 5)
    await home.journal.start(start)
    assert "small-1: 1 calls were in flight" in findings(home)


def test_a_damaged_page_is_found(home: Home) -> None:
    place = home.path / "evolve.db"
    home.close()
    data = bytearray(place.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 4096] = b"\xff" * 4096
    place.write_bytes(data)
    again = open_home(home.path)
    try:
        assert any("damaged" in item.what for item in reconcile(again))
    finally:
        again.close()
