"""Both forms of the OpenAI format say the same: bodies, tool calls, streams, refusals and usage."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from evolve.core.errors import UserError, WorldError
from evolve.core.messages import Capability, Message, ModelReply, ModelRequest, ToolCall, ToolSpec, Usage
from evolve.models.openai import OpenAIModel
from evolve.models.openai_endpoint import OpenAIEndpoint
from tests.models.openai_server import (
    CHAT_USAGE,
    KEY,
    RESPONSE_USAGE,
    Events,
    OpenAIServer,
    Reply,
    call_item,
    chunks,
    completion,
    event,
    message_item,
    response,
    response_events,
    serving,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

REQUEST = ModelRequest(
    (Message("system", "be short"), Message("user", "q")), max_tokens=40, temperature=0.5, seed=2**62
)
ADD = ToolSpec("add", "adds", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
CALLS = (ToolCall("call_1", "add", '{"a": 1'), ToolCall("call_2", "add", '{"a":  2}'))
PAIRS = [(call.id, call.name, call.arguments) for call in CALLS]
USED = Usage(100, 20, cached_tokens=70, cache_write_tokens=10)
FORMS = ["chat", "responses"]


@pytest.fixture(scope="module")
def running() -> Iterator[OpenAIServer]:
    with serving() as server:
        yield server


@pytest.fixture
def server(running: OpenAIServer) -> Iterator[OpenAIServer]:
    running.forget()
    yield running
    assert running.complaints == []


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=FORMS)
async def model(request: pytest.FixtureRequest, running: OpenAIServer) -> AsyncIterator[OpenAIModel]:
    opened = open_at(running, request.param)
    yield opened
    await opened.close()


def open_at(server: OpenAIServer, api: Any, **more: Any) -> OpenAIModel:
    return OpenAIModel(OpenAIEndpoint("m", server.address, key=KEY, key_name="SOME_KEY", api=api, **more))


def is_chat(model: OpenAIModel) -> bool:
    return Capability.PLAIN in model.capabilities


def whole(model: OpenAIModel, text: str = "", refusal: str = "", calls: Any = (), usage: Any = "told") -> Reply:
    """One answer, in the form of the model."""
    if is_chat(model):
        more = {"usage": CHAT_USAGE if usage == "told" else usage}
        finish = "tool_calls" if calls else "stop"
        return Reply(completion(finish, content=text or None, refusal=refusal or None, calls=calls, **more))
    said = [("output_text", text)] * bool(text) + [("refusal", refusal)] * bool(refusal)
    output = [message_item(*said)] * bool(said) + [call_item(*call) for call in calls]
    return Reply(response(*output, usage=RESPONSE_USAGE if usage == "told" else usage))


def streamed(model: OpenAIModel, *pieces: str, ending: str = "whole") -> Events:
    """An answer in pieces, in the form of the model; one that does not end as a whole lacks its end."""
    if is_chat(model):
        whole_ends = {} if ending == "whole" else {"finish": None, "usage": None}
        return Events(chunks(*({"content": piece} for piece in pieces), **whole_ends), ending)
    events = response_events(response(message_item(("output_text", "".join(pieces)))), *pieces)
    return Events(events if ending == "whole" else events[:-1], ending)


async def follow(model: OpenAIModel, **more: Any) -> tuple[ModelReply, list[str]]:
    heard: list[str] = []
    reply = await model.reply(ModelRequest(REQUEST.messages, 40, on_text=heard.append, **more))
    return reply, heard


async def test_text_and_usage_with_cached_written_and_reasoning_tokens(
    server: OpenAIServer, model: OpenAIModel
) -> None:
    server.answers(whole(model, "hi"))
    reply = await model.reply(REQUEST)
    assert (reply.text, reply.finish_reason, reply.usage) == ("hi", "stop", USED)
    assert reply.raw_usage == (CHAT_USAGE if is_chat(model) else RESPONSE_USAGE)
    assert reply.seconds > 0


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": -1, "completion_tokens": 1, "input_tokens": "x"}])
async def test_usage_that_is_absent_or_unsound_is_left_to_the_books(
    server: OpenAIServer, model: OpenAIModel, usage: Any
) -> None:
    answer = whole(model, "hi").body.model_dump(mode="json", exclude_unset=True)
    server.answers(Reply({**answer, "usage": usage}))
    reply = await model.reply(REQUEST)
    assert (reply.text, reply.usage, dict(reply.raw_usage)) == ("hi", Usage(), usage or {})


async def test_a_refusal_is_filtered_content_with_its_words(server: OpenAIServer, model: OpenAIModel) -> None:
    server.answers(whole(model, refusal="I will not."))
    reply = await model.reply(REQUEST)
    assert (reply.text, reply.finish_reason) == ("I will not.", "content_filter")


async def test_tool_calls_come_with_their_arguments_as_written(server: OpenAIServer, model: OpenAIModel) -> None:
    server.answers(whole(model, "let me see", calls=PAIRS))
    reply = await model.reply(ModelRequest(REQUEST.messages, tools=(ADD,)))
    assert (reply.text, reply.finish_reason, reply.tool_calls) == ("let me see", "tool_calls", CALLS)


async def test_a_required_call_that_chat_ends_with_stop_is_a_call(server: OpenAIServer) -> None:
    model = open_at(server, "chat")
    server.answers(Reply(completion("stop", calls=PAIRS)))
    assert (await model.reply(ModelRequest(REQUEST.messages, tools=(ADD,)))).finish_reason == "tool_calls"
    await model.close()


@pytest.mark.parametrize("said", ["", "let me see"])
async def test_calls_and_their_results_go_back(server: OpenAIServer, model: OpenAIModel, said: str) -> None:
    server.answers(whole(model, "3"))
    results = (Message("tool", "one", tool_call_id="call_1"), Message("tool", "two", tool_call_id="call_2"))
    turns = (*REQUEST.messages, Message("assistant", said, CALLS), *results)
    await model.reply(ModelRequest(turns, tools=(ADD,)))
    if is_chat(model):
        asked, *answers = server.body["messages"][2:]
        assert asked["content"] == (said or None)
        assert [(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in asked["tool_calls"]] == PAIRS
        assert [(a["role"], a["tool_call_id"], a["content"]) for a in answers] == [
            ("tool", "call_1", "one"),
            ("tool", "call_2", "two"),
        ]
        return
    items = server.body["input"][2:]
    assert [item["content"] for item in items if item["type"] == "message"] == [said] * bool(said)
    calls = [item for item in items if item["type"] == "function_call"]
    assert [(c["call_id"], c["name"], c["arguments"]) for c in calls] == PAIRS
    outputs = [(i["call_id"], i["output"]) for i in items if i["type"] == "function_call_output"]
    assert outputs == [("call_1", "one"), ("call_2", "two")]


@pytest.mark.parametrize("choice", ["auto", "none", "required", "add"])
async def test_which_tool_may_be_called(server: OpenAIServer, model: OpenAIModel, choice: str) -> None:
    server.answers(whole(model, "hi"))
    await model.reply(ModelRequest(REQUEST.messages, tools=(ADD,), tool_choice=choice))
    (tool,) = server.body["tools"]
    assert tool["type"] == "function"
    named = {"type": "function", "function": {"name": "add"}} if is_chat(model) else {"type": "function", "name": "add"}
    assert server.body["tool_choice"] == (named if choice == "add" else choice)
    spec = tool["function"] if is_chat(model) else tool
    assert (spec["name"], spec["description"], spec["parameters"]) == ("add", "adds", ADD.parameters)
    assert not spec.get("strict"), "a strict tool must list every property as required"


async def test_without_tools_none_is_named(server: OpenAIServer, model: OpenAIModel) -> None:
    server.answers(whole(model, "hi"))
    await model.reply(REQUEST)
    assert not server.body.keys() & {"tools", "tool_choice", "stream"}


async def test_what_is_asked(server: OpenAIServer, model: OpenAIModel) -> None:
    server.answers(whole(model, "hi"))
    await model.reply(REQUEST)
    assert server.body["temperature"] == 0.5
    if is_chat(model):
        assert server.body["max_tokens"] == 40
        assert 0 <= server.body["seed"] < 2**31
    else:
        assert server.body["max_output_tokens"] == 40
        assert server.body["store"] is False


async def test_a_schema_is_asked_for(server: OpenAIServer, model: OpenAIModel) -> None:
    server.answers(whole(model, "{}"))
    await model.reply(ModelRequest(REQUEST.messages, json_schema={"type": "object"}))
    asked = server.body["response_format"]["json_schema"] if is_chat(model) else server.body["text"]["format"]
    assert (asked["schema"], asked["strict"]) == ({"type": "object"}, True)


@pytest.mark.parametrize("api", FORMS)
async def test_models_that_refuse_sampling_are_sent_none(server: OpenAIServer, api: str) -> None:
    model = open_at(server, api, sampling=False)
    server.answers(whole(model, "hi"))
    await model.reply(REQUEST)
    await model.close()
    assert not server.body.keys() & {"temperature", "seed", "max_tokens"}
    assert server.body["max_completion_tokens" if api == "chat" else "max_output_tokens"] == 40


async def test_a_stream_is_heard_piece_by_piece_and_ends_with_usage(server: OpenAIServer, model: OpenAIModel) -> None:
    server.answers(streamed(model, "Pa", "ris", " \u2028é🙂"))
    reply, heard = await follow(model)
    assert heard == ["Pa", "ris", " \u2028é🙂"]
    assert (reply.text, reply.finish_reason, reply.usage) == ("Paris \u2028é🙂", "stop", USED)
    assert reply.raw_usage["total_tokens"] == 120
    assert server.body["stream"] is True


async def test_nobody_listening_means_no_stream(server: OpenAIServer, model: OpenAIModel) -> None:
    server.answers(whole(model, "hi"))
    await model.reply(REQUEST)
    assert "stream" not in server.body


async def test_fragments_of_calls_are_put_together(server: OpenAIServer, model: OpenAIModel) -> None:
    if is_chat(model):
        server.answers(
            Events(
                chunks(
                    {"content": "see"},
                    {"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "add", "arguments": ""}}]},
                    {"tool_calls": [{"index": 0, "function": {"arguments": '{"a":'}}]},
                    {"tool_calls": [{"index": 1, "id": "call_2", "function": {"name": "add", "arguments": '{"a":'}}]},
                    {"tool_calls": [{"index": 0, "function": {"arguments": " 1"}}]},
                    {"tool_calls": [{"index": 1, "function": {"arguments": "  2}"}}]},
                    finish="tool_calls",
                )
            )
        )
    else:
        done = response(message_item(("output_text", "see")), *(call_item(*pair) for pair in PAIRS))
        place = {"item_id": "fc_1", "output_index": 1}
        fragment = event(50, "response.function_call_arguments.delta", delta='{"a"', **place)
        began, *rest, end = response_events(done, "see")
        server.answers(Events([began, *rest, fragment, end]))
    reply, heard = await follow(model, tools=(ADD,))
    assert heard == ["see"], "arguments are no text"
    assert (reply.finish_reason, reply.tool_calls) == ("tool_calls", CALLS)


async def test_a_streamed_refusal_is_heard_and_filtered(server: OpenAIServer, model: OpenAIModel) -> None:
    if is_chat(model):
        server.answers(Events(chunks({"refusal": "I will"}, {"refusal": " not."})))
    else:
        refused = response(message_item(("refusal", "I will not.")))
        server.answers(Events(response_events(refused, "I will", " not.", kind="refusal")))
    reply, heard = await follow(model)
    assert ("".join(heard), reply.text, reply.finish_reason) == ("I will not.", "I will not.", "content_filter")


@pytest.mark.parametrize("ending", ["early", "cut", "hanging", "trickling"])
async def test_a_stream_that_breaks_may_have_been_billed_and_passes(
    server: OpenAIServer, ending: str, model: OpenAIModel
) -> None:
    short = open_at(server, "chat" if is_chat(model) else "responses", timeout_seconds=0.3)
    server.answers(streamed(model, "Pa", ending=ending))
    heard: list[str] = []
    began = time.monotonic()
    with pytest.raises(WorldError) as caught:
        await short.reply(ModelRequest(REQUEST.messages, on_text=heard.append))
    assert time.monotonic() - began < 1.5, "the time limit holds for the whole call"
    await short.close()
    assert heard == ["Pa"]
    assert (caught.value.passing, caught.value.maybe_billed, caught.value.halts) == (True, True, False)


async def test_an_error_event_may_have_been_billed_and_passes(server: OpenAIServer, model: OpenAIModel) -> None:
    events = list(streamed(model, "Pa").events)[:2]
    errors: list[Any] = [{"type": "error", "error": {"message": f"overloaded, {KEY}", "type": "server_error"}}]
    if not is_chat(model):
        errors.append(event(9, "error", message=f"overloaded, {KEY}", code="server_error", param=None))
        failed = response(status="failed", error={"code": "server_error", "message": f"overloaded, {KEY}"}, usage=None)
        errors.append(event(9, "response.failed", response=failed.model_dump(exclude_unset=True)))
    for error in errors:
        server.answers(Events([*events, error]))
        with pytest.raises(WorldError, match="overloaded") as caught:
            await follow(model)
        assert (caught.value.passing, caught.value.maybe_billed, caught.value.halts) == (True, True, False)
        assert KEY not in str(caught.value)


async def test_an_empty_account_halts_also_in_a_stream(server: OpenAIServer, model: OpenAIModel) -> None:
    error = {"message": "pay", "type": "insufficient_quota", "code": "insufficient_quota"}
    server.answers(Events([{"type": "error", "error": error}]))
    with pytest.raises(WorldError) as caught:
        await follow(model)
    assert (caught.value.passing, caught.value.halts) == (False, True)


async def test_an_endpoint_that_cannot_stream_is_read_whole(server: OpenAIServer, model: OpenAIModel) -> None:
    server.answers(whole(model, "hi"))
    reply, _ = await follow(model)
    assert (reply.text, reply.usage) == ("hi", USED)


async def test_a_stream_of_another_format_is_not_asked_for_again(server: OpenAIServer, model: OpenAIModel) -> None:
    server.answers(Reply("<html>hello</html>"))
    with pytest.raises(WorldError) as caught:
        await follow(model)
    assert (caught.value.passing, caught.value.maybe_billed) == (False, True)


async def test_a_stream_that_is_given_up_is_closed(server: OpenAIServer, model: OpenAIModel) -> None:
    server.answers(streamed(model, "Pa", ending="hanging"))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.2):
            await follow(model)
    server.answers(whole(model, "hi"))
    assert (await model.reply(REQUEST)).text == "hi"


async def test_a_plain_request_streams_too(server: OpenAIServer) -> None:
    model = open_at(server, "chat")
    head = {"id": "c", "object": "text_completion", "created": 1, "model": "m"}
    texts = [{**head, "choices": [{"index": 0, "text": t, "finish_reason": None}]} for t in (" Pa", "ris")]
    end = {**head, "choices": [{"index": 0, "text": "", "finish_reason": "length"}], "usage": CHAT_USAGE}
    server.answers(Events([*texts, end]))
    reply, heard = await follow(model, style="plain")
    await model.close()
    assert (heard, reply.text, reply.finish_reason, reply.usage) == ([" Pa", "ris"], " Paris", "length", USED)


@pytest.mark.parametrize("more", [{"style": "plain"}, {"labels": ("a", "b")}])
async def test_responses_refuse_what_they_cannot_do_before_anything_is_sent(
    server: OpenAIServer, more: dict[str, Any]
) -> None:
    model = open_at(server, "responses")
    assert model.capabilities == {Capability.JSON_SCHEMA, Capability.TOOLS}
    with pytest.raises(UserError, match="api: chat"):
        await model.reply(ModelRequest(REQUEST.messages, **more))
    await model.close()
    assert server.asked == []


@pytest.mark.parametrize("listening", [False, True])
async def test_responses_end_at_a_stop_sequence(server: OpenAIServer, listening: bool) -> None:
    model = open_at(server, "responses")
    server.answers(streamed(model, "one\n", "\ntwo") if listening else whole(model, "one\n\ntwo"))
    heard: list[str] = []
    request = ModelRequest(REQUEST.messages, stop=("\n\n", "x"), on_text=heard.append if listening else None)
    reply = await model.reply(request)
    await model.close()
    assert (reply.text, reply.finish_reason, reply.usage) == ("one", "stop", USED)
    assert "".join(heard) == ("one" if listening else "")
    assert "stop" not in server.body, "the Responses API knows no stop sequences"
