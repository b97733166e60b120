"""The mailbox: one answer to one request, whoever writes it, whenever it comes, and whatever is killed meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evolve.core.errors import BudgetExceeded, UserError, WorldError
from evolve.core.messages import Capability, Message, ModelRequest, ToolCall, ToolSpec, Usage
from evolve.core.waiting import RunClock
from evolve.models import ModelSettings, open_model
from evolve.models.mailbox import Box, MailboxModel
from evolve.models.mailbox import model as mailbox_model

ROOT = Path(__file__).resolve().parents[2]
WEATHER = ToolSpec("weather", "tells it", {"type": "object"})


def ask(text: str = "q", **more: Any) -> ModelRequest:
    return ModelRequest((Message("system", "be brief"), Message("user", text)), **more)


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path / "campaign" / "coach")


def model_of(box: Box, *, most: int = 10, patience: float = 5.0) -> MailboxModel:
    return MailboxModel("coach", box, most=most, timeout_seconds=patience)


async def opened(box: Box, count: int = 1) -> list[str]:
    """Ids of the open requests, once there are so many."""
    while len(box.open_requests()) < count:
        await asyncio.sleep(0.01)
    return box.open_requests()


async def test_a_request_says_everything_and_a_reply_answers_it(box: Box) -> None:
    schema = {"type": "object", "required": ["a"]}
    task = asyncio.create_task(model_of(box).reply(ask(json_schema=schema, max_tokens=77)))
    (id,) = await opened(box)
    document = json.loads((box.folder / "requests" / f"{id}.json").read_text())
    assert [turn["content"] for turn in document["messages"]] == ["be brief", "q"]
    assert (document["json_schema"], document["max_tokens"], document["model"]) == (schema, 77, "mailbox:coach")
    usage = {"prompt_tokens": 12, "completion_tokens": 3}
    box.answer(id, json.dumps({"text": '{"a": 1}', "usage": usage, "model": "Ada", "note": "by hand"}).encode(), "ada")
    reply = await task
    assert (reply.text, reply.usage, reply.finish_reason) == ('{"a": 1}', Usage(12, 3), "stop")
    for name in ("README.md", "request.schema.json", "reply.schema.json"):
        assert (box.folder / name).exists()


async def test_tool_calls_go_both_ways(box: Box) -> None:
    history = (Message("user", "q"), Message("assistant", "", (ToolCall("c1", "weather", '{"city": "Oslo"}'),)))
    request = ModelRequest((*history, Message("tool", "rain", tool_call_id="c1")), tools=(WEATHER,))
    task = asyncio.create_task(model_of(box).reply(request))
    (id,) = await opened(box)
    assert box.request(id).messages[1].tool_calls[0].arguments == {"city": "Oslo"}
    box.answer(id, b'{"tool_calls": [{"name": "weather", "arguments": {"city": "Rom"}}]}', "a")
    reply = await task
    assert reply.tool_calls == (ToolCall("call_1", "weather", '{"city": "Rom"}'),)
    assert reply.finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"not json", "JSON"),
        (b"{}", "neither text nor tool_calls"),
        (b'{"text": "x", "score": 1}', "score"),
        (b'{"tool_calls": [{"name": "nope", "arguments": {}}]}', "no tool 'nope'"),
        (b'{"text": "no json"}', "must be JSON"),
        (b'{"text": "{}"}', "does not fit"),
    ],
)
async def test_a_reply_that_cannot_be_used_is_told_why(box: Box, data: bytes, words: str) -> None:
    task = asyncio.create_task(model_of(box).reply(ask(json_schema={"type": "object", "required": ["a"]})))
    (id,) = await opened(box)
    with pytest.raises(UserError, match=words):
        box.answer(id, data, "a")
    box.answer(id, b'{"text": "{\\"a\\": 2}"}', "a")
    await task


async def test_a_bad_file_is_put_aside_with_its_reason_and_waited_for_anew(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox_model, "HALF_WRITTEN_SECONDS", 0.1)
    task = asyncio.create_task(model_of(box).reply(ask()))
    (id,) = await opened(box)
    place = box.folder / "replies" / f"{id}.json"
    place.write_text('{"text": "half a fi')
    while not list((box.folder / "rejected").glob("*.txt")):
        await asyncio.sleep(0.02)
    assert not place.exists()
    assert "JSON" in (box.folder / "rejected" / f"{id}-1.txt").read_text()
    place.write_text('{"text": "whole"}')
    assert (await task).text == "whole"


async def test_a_file_that_is_still_being_written_is_waited_for(box: Box) -> None:
    task = asyncio.create_task(model_of(box).reply(ask()))
    (id,) = await opened(box)
    place = box.folder / "replies" / f"{id}.json"
    place.write_text('{"text": ')
    await asyncio.sleep(0.5)
    place.write_text('{"text": "done"}')
    assert (await task).text == "done"
    assert list((box.folder / "rejected").iterdir()) == []


async def test_after_three_bad_replies_the_call_fails(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailbox_model, "HALF_WRITTEN_SECONDS", 0.0)
    task = asyncio.create_task(model_of(box).reply(ask()))
    (id,) = await opened(box)
    for number in range(3):
        (box.folder / "replies" / f"{id}.json").write_text("{}")
        while not (box.folder / "rejected" / f"{id}-{number + 1}.txt").exists():
            await asyncio.sleep(0.02)
    with pytest.raises(WorldError, match="3 replies") as caught:
        await task
    assert not caught.value.passing


async def test_nobody_answers_in_time_and_a_later_session_finds_the_answer(box: Box) -> None:
    with pytest.raises(WorldError, match="1 requests are open") as caught:
        await model_of(box, patience=0.3).reply(ask())
    assert caught.value.halts and str(box.folder) in str(caught.value)
    (id,) = box.open_requests()
    box.answer(id, b'{"text": "late"}', "a")
    assert (await model_of(box).reply(ask())).text == "late"
    assert box.count() == 1


async def test_the_cap_counts_over_sessions_and_refuses_before_anything_is_written(box: Box) -> None:
    for text in ("one", "two"):
        with pytest.raises(WorldError):
            await model_of(box, most=2, patience=0.1).reply(ask(text))
    with pytest.raises(BudgetExceeded, match="mailbox_requests"):
        await model_of(box, most=2).reply(ask("three"))
    assert box.count() == 2
    with pytest.raises(WorldError):  # what was asked before may be asked again
        await model_of(box, most=2, patience=0.1).reply(ask("one"))


async def test_waiting_for_an_answer_is_not_the_harness_s_time(box: Box) -> None:
    async with asyncio.timeout(0.3) as limit:
        with RunClock(limit).running():
            task = asyncio.create_task(model_of(box).reply(ask()))
            (id,) = await opened(box)
            await asyncio.sleep(0.6)
            box.answer(id, b'{"text": "slow"}', "a")
            assert (await task).text == "slow"


WRITER = """
import sys
from pathlib import Path
from evolve.core.errors import UserError
from evolve.models.mailbox import Box
box, me = Box(Path(sys.argv[1])), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
won = []
for id in box.open_requests():
    try:
        if sys.argv[3] == "claim":
            won += [id] if box.claim(id, me) else []
        else:
            box.answer(id, ('{"text": "%s"}' % me).encode(), me)
            won.append(id)
    except UserError as error:
        assert "already" in str(error), error
print(" ".join(won))
"""


@pytest.mark.parametrize("act", ["answer", "claim"])
async def test_of_several_readers_exactly_one_gets_each_request(box: Box, act: str) -> None:
    model = model_of(box, most=60)
    tasks = [asyncio.create_task(model.reply(ask(f"q{n}"))) for n in range(40)]
    ids = await opened(box, 40)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    readers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(box.folder), f"r{n}", act],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for n in range(4)
    ]  # fmt: skip
    for reader in readers:
        assert reader.stdout is not None and reader.stdout.readline() == "ready\n"
    said = await asyncio.gather(*(asyncio.to_thread(reader.communicate, "go\n", 60) for reader in readers))
    won = [id for out, _ in said for id in out.split()]
    assert sorted(won) == ids
    if act == "answer":
        replies = {reply.text for reply in await asyncio.gather(*tasks)}
        assert replies <= {"r0", "r1", "r2", "r3"}
    for task in tasks:
        task.cancel()


def test_a_claim_that_ran_out_can_be_taken_once(box: Box) -> None:
    box.prepare()
    from evolve.models.mailbox.documents import write_request

    box.put_request(write_request(ask(), "ab12", "mailbox:coach", "2026-01-01"))
    assert box.claim("ab12", "one", seconds=-1.0)
    assert box.claim("ab12", "two") and not box.claim("ab12", "three") and box.claim("ab12", "two")
    with pytest.raises(UserError, match="claimed by two"):
        box.answer("ab12", b'{"text": "x"}', "three")


@pytest.mark.parametrize("id", ["../../etc/passwd", "", "zz", "a/b"])
def test_an_id_never_leaves_the_folder(box: Box, id: str) -> None:
    with pytest.raises(UserError, match="no request id"):
        box.request(id)


def test_settings_and_abilities(tmp_path: Path) -> None:
    model = open_model(ModelSettings(model="mailbox:coach"), environment={}, mailbox=tmp_path)
    assert model.capabilities == {Capability.JSON_SCHEMA, Capability.TOOLS}
    assert list(tmp_path.iterdir()) == [], "nothing is made before the first request"
    for name in ("../x", "a b", ""):
        with pytest.raises(UserError):
            open_model(ModelSettings(model=f"mailbox:{name}"), environment={}, mailbox=tmp_path)


async def test_what_a_mailbox_cannot_do_is_refused(box: Box) -> None:
    with pytest.raises(UserError, match="cannot serve labels"):
        await model_of(box).reply(ask(labels=("a", "b")))


def test_polling_is_no_busy_loop(box: Box) -> None:
    started, cpu = time.monotonic(), time.process_time()

    async def wait() -> None:
        with pytest.raises(WorldError):
            await model_of(box, patience=1.0).reply(ask())

    asyncio.run(wait())
    assert time.process_time() - cpu < 0.5 * (time.monotonic() - started)
