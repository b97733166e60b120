"""A mailbox behind the books: which request is whose, over resumes, and what a call is charged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from evolve.books import Books, Caps, JournalMode, Owner, PriceBook, PriceOverride
from evolve.core.errors import WorldError
from evolve.core.messages import Message, ModelReply, ModelRequest
from evolve.models import OpenedModel
from evolve.models.mailbox import Box, MailboxLimits, MailboxModel
from evolve.store import Home, open_home

REQUEST = ModelRequest((Message("user", "Name a colour."),), max_tokens=50, step="answer")
PATIENCE = MailboxLimits(timeout_seconds=0.15, poll_seconds=0.02)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    opened = open_home(tmp_path / ".evolve", create=True)
    yield opened
    opened.close()


@pytest.fixture
def box(home: Home) -> Box:
    return Box(home.mailbox / "desk-1" / "coach")


def answer(box: Box, id: str, **document: object) -> None:
    box.answer(id, json.dumps(document).encode(), "test", datetime.now(UTC))


class Turn:
    """One process's turn at the campaign: new books and a new model on the same home."""

    def __init__(self, home: Home, box: Box, mode: JournalMode = "full", prices: PriceBook | None = None) -> None:
        self.books = Books(home, "desk-1", Caps(calls=100), prices or PriceBook(), mode)
        self._model = OpenedModel(MailboxModel(box, PATIENCE))

    def ask(self, repetition: int, times: int = 1) -> list[ModelReply | BaseException]:
        owner = Owner("desk-1", "harness", "tree", "case", repetition, "agent")

        async def run() -> list[ModelReply | BaseException]:
            paid = self._model.booked(self.books, owner)
            return await asyncio.gather(*(paid.reply(REQUEST) for _ in range(times)), return_exceptions=True)

        return asyncio.run(run())


def text(answers: list[ModelReply | BaseException]) -> list[str]:
    return [one.text if isinstance(one, ModelReply) else type(one).__name__ for one in answers]


@pytest.mark.parametrize("mode", ["full", "hash", "off"])
def test_an_equal_request_of_another_repetition_never_gets_the_answer_that_was_given_to_the_first(
    home: Home, box: Box, mode: JournalMode
) -> None:
    assert text(Turn(home, box, mode).ask(0)) == ["WorldError"]
    (first,) = box.open_ids()
    answer(box, first, text="red")
    turn = Turn(home, box, mode)
    assert text(turn.ask(0)) == ["red"]
    assert text(turn.ask(1)) == ["WorldError"]
    again = Turn(home, box, mode)
    assert text(again.ask(1)) == ["WorldError"]
    (second,) = box.open_ids()
    assert second[:12] == first[:12]
    answer(box, second, text="blue")
    last = Turn(home, box, mode)
    assert text(last.ask(1)) == ["blue"]
    assert text(last.ask(0)) == ["red"]
    assert len(box.ids()) == 2


def test_two_samples_of_one_step_stay_two_when_only_one_was_answered_before_the_stop(home: Home, box: Box) -> None:
    assert text(Turn(home, box).ask(0, times=2)) == ["WorldError", "WorldError"]
    one, other = box.open_ids()
    answer(box, one, text="red")
    assert sorted(text(Turn(home, box).ask(0, times=2))) == ["WorldError", "red"]
    assert box.open_ids() == [other]
    answer(box, other, text="blue")
    assert sorted(text(Turn(home, box).ask(0, times=2))) == ["blue", "red"]
    assert len(box.ids()) == 2


def test_a_time_out_is_charged_nothing_and_an_answer_without_usage_at_its_bound_unpriced(home: Home, box: Box) -> None:
    turn = Turn(home, box)
    (late,) = turn.ask(0)
    assert isinstance(late, WorldError)
    assert turn.books.spend().calls == 0
    answer(box, box.open_ids()[0], text="red")
    turn.ask(0)
    spend = turn.books.spend()
    assert (spend.calls, spend.unpriced_calls, spend.usd) == (1, 1, 0)
    assert spend.usage.completion_tokens == REQUEST.max_tokens


def test_stated_usage_at_a_stated_price_is_billed_exactly(home: Home, box: Box) -> None:
    prices = PriceBook({"mailbox:coach": PriceOverride(input_per_million="2", output_per_million="10")})  # type: ignore[arg-type]
    turn = Turn(home, box, prices=prices)
    turn.ask(0)
    answer(box, box.open_ids()[0], text="red", usage={"prompt_tokens": 20, "completion_tokens": 3})
    turn.ask(0)
    assert turn.books.spend().usd == Decimal("0.00007")
    assert turn.books.spend().unpriced_calls == 0
