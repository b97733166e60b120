"""The mailbox as a model: what it writes, what it waits for, what it refuses."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evolve.core.errors import BudgetExceeded, UserError, WorldError
from evolve.core.messages import Capability, Message, ModelReply, ModelRequest, ToolCall, ToolSpec, Usage
from evolve.core.waiting import RunClock
from evolve.models import ModelSettings, OpenedModel, open_model
from evolve.models.mailbox import Box, MailboxLimits, MailboxModel

QUICK = MailboxLimits(timeout_seconds=5, settle_seconds=0.15, poll_seconds=0.02)
REQUEST = ModelRequest((Message("system", "Be kind."), Message("user", "Grüße 🙂 \u2028 \ud800")), step="answer")
SIZE = {"type": "object", "properties": {"size": {"enum": ["small", "large"]}}, "required": ["size"]}
WEIGH = ToolSpec("weigh", "Weighs a thing.", {"type": "object", "properties": {"thing": {"type": "string"}}})


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path / "mail ö" / "coach")


def ask(box: Box, request: ModelRequest = REQUEST, limits: MailboxLimits = QUICK) -> asyncio.Task[ModelReply]:
    return asyncio.create_task(MailboxModel(box, limits).reply(request))


async def until(true: Callable[[], Any], seconds: float = 4.0) -> Any:
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, "it did not happen in time"
        await asyncio.sleep(0.01)
    return found


async def only_request(box: Box) -> str:
    return str((await until(box.open_ids))[0])


async def answered(box: Box, request: ModelRequest, **document: Any) -> ModelReply:
    waiting = ask(box, request)
    id = await only_request(box)
    box.answer(id, json.dumps(document).encode(), "test", datetime.now(UTC))
    return await waiting


async def test_a_request_shows_all_that_an_answerer_needs_and_fits_its_schema(box: Box) -> None:
    call = ToolCall("c1", "weigh", '{"thing": "ant"}')
    turns = (Message("user", "How heavy?"), Message("assistant", "", (call,)), Message("tool", "1 mg", (), "c1"))
    request = ModelRequest(
        turns, max_tokens=77, stop=("END",), json_schema=SIZE, tools=(WEIGH,), tool_choice="none", step="size"
    )
    waiting = ask(box, request)
    id = await only_request(box)
    shown = json.loads(box.request_path(id).read_bytes())
    Draft202012Validator(json.loads((box.folder / "request.schema.json").read_bytes())).validate(shown)
    assert [turn["content"] for turn in shown["messages"]] == ["How heavy?", "", "1 mg"]
    assert shown["messages"][1]["tool_calls"] == [{"id": "c1", "name": "weigh", "arguments": '{"thing": "ant"}'}]
    assert shown["json_schema"] == SIZE
    assert shown["tools"][0]["parameters"] == dict(WEIGH.parameters)
    assert (shown["max_tokens"], shown["stop"], shown["tool_choice"], shown["step"]) == (77, ["END"], "none", "size")
    assert "replies/ID.json" in (box.folder / "README.md").read_text()
    assert box.request_path(id).stat().st_mode & 0o077 == 0
    box.answer(id, b'{"text": "{\\"size\\": \\"small\\"}"}', "test", datetime.now(UTC))
    assert json.loads((await waiting).text) == {"size": "small"}


async def test_a_reply_is_read_whole_with_who_answered_and_what_it_used(box: Box) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "cached_tokens": 4}
    reply = await answered(box, REQUEST, text="héllo 🙂", usage=usage, model="ada", note="by hand")
    assert reply.text == "héllo 🙂"
    assert reply.usage == Usage(9, 3, 4)
    assert reply.raw_usage["model"] == "ada"
    assert reply.raw_usage["note"] == "by hand"
    assert reply.finish_reason == "stop"
    assert 0 < reply.seconds < 5


async def test_usage_that_nobody_states_is_not_made_up(box: Box) -> None:
    assert (await answered(box, REQUEST, text="x")).usage == Usage()


async def test_tool_calls_are_answers_and_get_ids(box: Box) -> None:
    request = ModelRequest(REQUEST.messages, tools=(WEIGH,), tool_choice="required")
    reply = await answered(box, request, tool_calls=[{"name": "weigh", "arguments": {"thing": "ä"}}] * 2)
    assert [json.loads(call.arguments) for call in reply.tool_calls] == [{"thing": "ä"}] * 2
    assert len({call.id for call in reply.tool_calls}) == 2
    assert reply.finish_reason == "tool_calls"


async def test_a_byte_order_mark_is_accepted(box: Box) -> None:
    waiting = ask(box)
    box.reply_path(await only_request(box)).write_bytes(b'\xef\xbb\xbf{"text": "from an editor"}')
    assert (await waiting).text == "from an editor"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (b'{"text": "cut in the mi', "not whole JSON"),
        (b"", "not whole JSON"),
        (b'{"text": "\xff"}', "UTF-8"),
        (b'["text"]', "object"),
        (b"{}", "text"),
        (b'{"text": "x", "txet": "y"}', "txet"),
        (b'{"text": 7}', "text"),
        (b'{"text": "\\ud800"}', "surrogate"),
        (b'{"text": "x", "usage": {"prompt_tokens": NaN, "completion_tokens": 1}}', "NaN"),
        (b'{"text": "x", "usage": {"prompt_tokens": 1, "completion_tokens": 1, "cached_tokens": 2}}', "exceed"),
        (b'{"text": "x", "usage": {"prompt_tokens": -1, "completion_tokens": 1}}', "prompt_tokens"),
        (b'{"tool_calls": [{"name": "weigh"}]}', "no tool 'weigh'"),
        (b'{"text": "' + b"x" * (5 * 2**20) + b'"}', "bytes"),
        (b"[" * 200_000 + b"]" * 200_000, "nested"),
    ],
    ids=lambda value: value[:12].decode("latin-1") if isinstance(value, bytes) else "",
)
async def test_a_reply_that_does_not_fit_is_put_aside_with_the_reason_and_another_one_is_waited_for(
    box: Box, reply: bytes, reason: str
) -> None:
    waiting = ask(box)
    id = await only_request(box)
    box.reply_path(id).write_bytes(reply)
    why = await until(lambda: box.error_path(id).exists() and box.error_path(id).read_text())
    assert reason in why
    assert (box.folder / "rejected" / f"{id}.1.json").read_bytes() == reply
    assert not waiting.done()
    box.answer(id, b'{"text": "better"}', "test", datetime.now(UTC))
    assert (await waiting).text == "better"
    assert not box.error_path(id).exists()


@pytest.mark.parametrize(("text", "reason"), [("large", "JSON"), ('{"size": "huge"}', "$.size"), ("{}", "size")])
async def test_text_that_misses_the_requests_schema_is_rejected(box: Box, text: str, reason: str) -> None:
    waiting = ask(box, ModelRequest(REQUEST.messages, json_schema=SIZE))
    id = await only_request(box)
    with pytest.raises(UserError, match="nothing was sent") as refused:
        box.answer(id, json.dumps({"text": text}).encode(), "test", datetime.now(UTC))
    assert reason in str(refused.value)
    box.reply_path(id).write_text(json.dumps({"text": text}))
    assert reason in await until(lambda: box.error_path(id).exists() and box.error_path(id).read_text())
    waiting.cancel()


@pytest.mark.parametrize(("choice", "calls"), [("none", ["weigh"]), ("required", []), ("weigh", []), ("auto", ["fly"])])
async def test_tool_choice_binds_the_answer(box: Box, choice: str, calls: list[str]) -> None:
    waiting = ask(box, ModelRequest(REQUEST.messages, tools=(WEIGH,), tool_choice=choice))
    document = {"text": "x", "tool_calls": [{"name": name} for name in calls]}
    id = await only_request(box)
    with pytest.raises(UserError, match="tool"):
        box.answer(id, json.dumps(document).encode(), "test", datetime.now(UTC))
    waiting.cancel()


async def test_a_half_written_reply_is_waited_for_as_long_as_it_grows(box: Box) -> None:
    waiting = ask(box)
    path = box.reply_path(await only_request(box))
    whole = json.dumps({"text": "written letter by letter"}).encode()
    with path.open("wb", buffering=0) as file:
        for byte in whole:
            file.write(bytes([byte]))
            await asyncio.sleep(0.01)
    assert (await waiting).text == "written letter by letter"
    assert list((box.folder / "rejected").iterdir()) == []


async def test_a_reply_that_is_no_plain_file_is_rejected_and_never_read(box: Box, tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text('{"text": "secret"}')
    waiting = ask(box)
    id = await only_request(box)
    box.reply_path(id).symlink_to(tmp_path / "secret.json")
    assert "plain file" in await until(lambda: box.error_path(id).exists() and box.error_path(id).read_text())
    os.mkfifo(box.reply_path(id))
    await until(lambda: (box.folder / "rejected" / f"{id}.2.json").exists())
    box.answer(id, b'{"text": "open"}', "test", datetime.now(UTC))
    assert (await waiting).text == "open"


async def test_rejections_are_bounded_and_the_last_reason_is_told(box: Box) -> None:
    waiting = ask(box)
    id = await only_request(box)
    for number in (1, 2, 3):
        box.reply_path(id).write_text("{}")
        await until(lambda number=number: (box.folder / "rejected" / f"{id}.{number}.json").exists())  # type: ignore[misc]
    with pytest.raises(WorldError, match=r"3 replies .* rejected") as stopped:
        await waiting
    assert stopped.value.halts
    assert str(box.error_path(id)) in str(stopped.value)
    again = ask(box)
    await asyncio.sleep(0.05)
    box.answer(id, b'{"text": "at last"}', "test", datetime.now(UTC))
    assert (await again).text == "at last"


async def test_a_time_out_halts_and_says_where_the_open_requests_lie(box: Box) -> None:
    limits = MailboxLimits(timeout_seconds=0.1, poll_seconds=0.02)
    with pytest.raises(WorldError, match="no answer within") as late:
        await ask(box, limits=limits)
    assert late.value.halts
    assert late.value.passing
    for words in (str(box.folder / "requests"), "1 open request ", "--resume", "evolve mailbox list"):
        assert words in str(late.value)
    (id,) = box.open_ids()
    box.answer(id, b'{"text": "meanwhile"}', "test", datetime.now(UTC))
    assert (await ask(box, limits=limits)).text == "meanwhile"
    assert box.ids() == [id]


async def test_the_wait_for_a_person_is_not_the_harness_own_time(box: Box) -> None:
    async with asyncio.timeout(0.1) as limit:
        with RunClock(limit).running():
            waiting = ask(box)
            id = await only_request(box)
            await asyncio.sleep(0.3)
            box.answer(id, b'{"text": "slow"}', "test", datetime.now(UTC))
            assert (await waiting).text == "slow"


async def test_two_samples_of_one_request_are_two_requests_with_two_answers(box: Box) -> None:
    model = MailboxModel(box, QUICK)
    waiting = [asyncio.create_task(model.reply(REQUEST)) for _ in range(2)]
    await until(lambda: len(box.open_ids()) == 2)
    first, second = box.open_ids()
    assert first[:12] == second[:12]
    for number, id in enumerate((first, second)):
        box.answer(id, json.dumps({"text": f"answer {number}"}).encode(), "test", datetime.now(UTC))
    assert sorted(reply.text for reply in await asyncio.gather(*waiting)) == ["answer 0", "answer 1"]
    again = MailboxModel(box, QUICK)
    assert (await again.reply(REQUEST)).text == "answer 0"
    assert (await again.reply(REQUEST)).text == "answer 1"
    assert box.open_ids() == []


async def test_a_cap_stops_before_anything_is_written_and_counts_over_resumes(box: Box) -> None:
    limits = MailboxLimits(timeout_seconds=0.05, requests=2)
    questions = [ModelRequest((Message("user", f"question {number}"),)) for number in range(3)]
    for question in questions[:2]:
        with pytest.raises(WorldError, match="no answer"):
            await ask(box, question, limits)
    with pytest.raises(BudgetExceeded, match=r"mailbox_requests \(2\) of mailbox:coach"):
        await ask(box, questions[2], limits)
    assert len(box.ids()) == 2
    for id in box.ids():
        box.answer(id, b'{"text": "x"}', "test", datetime.now(UTC))
    assert (await ask(box, questions[0], limits)).text == "x"
    with pytest.raises(BudgetExceeded):
        await ask(box, questions[2], limits)


async def test_what_a_mailbox_cannot_do_is_refused_before_anything_is_written(box: Box) -> None:
    model = MailboxModel(box, QUICK)
    assert model.identity == "mailbox:coach"
    assert model.capabilities == {Capability.JSON_SCHEMA, Capability.TOOLS}
    for request in (
        ModelRequest(REQUEST.messages, labels=("a", "b")),
        ModelRequest(REQUEST.messages, style="plain"),
        ModelRequest(REQUEST.messages, json_schema={"type": "no such type"}),
    ):
        with pytest.raises(UserError):
            await model.reply(request)
    assert not box.folder.exists()


def opened(**settings: Any) -> OpenedModel:
    return open_model(ModelSettings(**settings), environment={}, mailbox=Path("nowhere"))


def test_a_mailbox_waits_an_hour_unless_told_otherwise_also_as_long_as_other_models_do() -> None:
    assert ModelSettings(model="mailbox:coach").seconds == 3600
    assert ModelSettings(model="openai:x").seconds == 120
    explicit = ModelSettings(model="mailbox:coach", timeout_seconds=120)
    kept = ModelSettings.model_validate(explicit.model_dump(mode="json", exclude_defaults=True))
    assert kept.seconds == 120


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", "", "x" * 65, "co ach", "nul\0"])
def test_a_name_that_is_no_folder_name_is_refused(name: str) -> None:
    with pytest.raises(UserError):
        opened(model=f"mailbox:{name}")


def test_settings_of_other_providers_and_a_missing_folder_are_refused() -> None:
    with pytest.raises(UserError, match="max_retries"):
        opened(model="mailbox:coach", max_retries=2)
    with pytest.raises(UserError, match="mailbox_requests"):
        open_model(ModelSettings(model="scripted:x", mailbox_requests=3), environment={})
    with pytest.raises(UserError, match="no folder for mail"):
        open_model(ModelSettings(model="mailbox:coach"), environment={})
    assert opened(model="mailbox:coach", mailbox_requests=3, concurrency=2).identity == "mailbox:coach"
    assert not Path("nowhere").exists()


async def test_a_folder_that_refuses_is_told_and_halts(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WorldError, match="cannot be used") as refused:
        await MailboxModel(Box(tmp_path / "file" / "coach"), QUICK).reply(REQUEST)
    assert refused.value.halts
