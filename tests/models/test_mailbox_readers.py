"""Several readers of one mailbox, and an asker that dies: real processes."""

from __future__ import annotations

import json
import signal
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evolve.core.errors import PointerMoved, UserError
from evolve.core.messages import Message, ModelRequest
from evolve.models.mailbox import Box
from evolve.models.mailbox.documents import request_document
from tests.models.answering_mail import ASKER, READERS, start

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
COUNT, ROUNDS = 8, 50


@pytest.fixture
def box(tmp_path: Path) -> Box:
    made = Box(tmp_path / "coach")
    made.prepare()
    return made


def post(box: Box, id: str) -> str:
    box.post(request_document(id, box.name, ModelRequest((Message("user", "q"),)), NOW))
    return id


def test_of_eight_processes_exactly_one_claims_and_one_answers_a_request_and_the_others_are_told(box: Box) -> None:
    for number in range(ROUNDS):
        post(box, f"{number:012d}-0")
        free = post(box, f"{number:012d}-1")
        if number > 9:
            box.claim(free, "gone", datetime.now(UTC) - timedelta(hours=1), timedelta(minutes=1))
    out, err = start(READERS, str(box.folder), str(COUNT), str(ROUNDS)).communicate(timeout=60)
    said = [json.loads(line) for line in out.splitlines()]
    assert len(said) == COUNT, err
    assert sorted(number for one in said for number in one["won"]) == list(range(ROUNDS))
    assert sorted(number for one in said for number in one["held"]) == list(range(ROUNDS))
    assert sum(one["told"] for one in said) == (COUNT - 1) * ROUNDS
    for one in said:
        for number in one["won"]:
            assert json.loads(box.reply_path(f"{number:012d}-0").read_bytes()) == {"text": one["me"]}
    assert list((box.folder / "replies").glob(".*")) == []


def test_a_claim_holds_until_it_expires_also_against_its_own_name(box: Box) -> None:
    id, hold = post(box, "aa-0"), timedelta(minutes=30)
    box.claim(id, "ada", NOW, hold)
    for who in ("bob", "ada"):
        with pytest.raises(PointerMoved, match="held by ada"):
            box.claim(id, who, NOW + timedelta(minutes=29), hold)
    with pytest.raises(PointerMoved, match="held by ada"):
        box.answer(id, b'{"text": "b"}', "bob", NOW)
    taken = box.claim(id, "bob", NOW + hold, hold)
    assert taken.by == "bob"
    with pytest.raises(PointerMoved, match="held by bob"):
        box.answer(id, b'{"text": "a"}', "ada", NOW + hold)
    box.answer(id, b'{"text": "b"}', "bob", NOW + hold)
    with pytest.raises(PointerMoved, match="somebody else was first"):
        box.claim(id, "ada", NOW + 9 * hold, hold)


def test_a_claim_that_cannot_be_read_blocks_nobody_for_ever(box: Box) -> None:
    id = post(box, "aa-0")
    for text in (
        "",
        '{"id": "aa-0"',
        json.dumps({"id": id, "by": "x", "claimed_at": "2030-01-01T12:00:00", "expires_at": "2031-01-01T12:00:00"}),
    ):
        (box.folder / "claims" / "aa-0.json").write_text(text)
        assert box.claim(id, "ada", NOW, timedelta(seconds=1)).by == "ada"


def test_a_request_that_is_not_there_or_was_changed_is_refused_by_name(box: Box) -> None:
    with pytest.raises(UserError, match="no such request"):
        box.answer("nothing", b'{"text": "x"}', "ada", NOW)
    id = post(box, "aa-0")
    box.request_path(id).write_text("{}")
    with pytest.raises(UserError, match=str(box.request_path(id))):
        box.answer(id, b'{"text": "x"}', "ada", NOW)


def test_an_asker_killed_while_it_waits_finds_its_request_and_the_reply_given_meanwhile(tmp_path: Path) -> None:
    box = Box(tmp_path / "coach")
    asker = start(ASKER, str(box.folder), "0123456789abcdef")
    end = time.monotonic() + 20
    while not box.open_ids():
        assert time.monotonic() < end and asker.poll() is None
        time.sleep(0.02)
    asker.send_signal(signal.SIGKILL)
    asker.communicate()
    (id,) = box.ids()
    assert id.endswith("-0123456789ab")
    posted = box.request_path(id).read_bytes()
    box.answer(id, b'{"text": "the one who stayed"}', "ada", datetime.now(UTC))
    out, err = start(ASKER, str(box.folder), "0123456789abcdef").communicate(timeout=30)
    assert out == "the one who stayed\n", err
    assert box.ids() == [id]
    assert box.request_path(id).read_bytes() == posted
