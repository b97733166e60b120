"""Both forms of the openai provider, whole and streamed, with tools: answers are built from the SDK's own types."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
from openai.types import responses as r
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from evolve.core.errors import UserError, WorldError
from evolve.core.messages import Capability, Message, ModelRequest, ToolCall, ToolSpec, Usage
from evolve.models import ModelSettings, open_model
from evolve.models.endpoint import Endpoint
from evolve.models.openai import OpenAIModel, ResponsesModel
from tests.models.answering import BREAK, Answering, Reaction, events, serving

KEY = "sk-very-secret-1234567890"
REQUEST = ModelRequest((Message("system", "be brief"), Message("user", "q")))
WEATHER = ToolSpec("weather", "tells it", {"type": "object", "properties": {"city": {"type": "string"}}})
HISTORY = (
    Message("user", "q"),
    Message("assistant", "", (ToolCall("c1", "weather", '{"city": "Oslo"}'),)),
    Message("tool", "rain", tool_call_id="c1"),
)
CHAT_USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 7,
    "total_tokens": 107,
    "prompt_tokens_details": {"cached_tokens": 60},
    "completion_tokens_details": {"reasoning_tokens": 3},
}
RESPONSES_USAGE = {
    "input_tokens": 100,
    "output_tokens": 7,
    "total_tokens": 107,
    "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 3},
}
CHOICES = ["auto", "none", "required", "weather"]


@pytest.fixture
def server() -> Iterator[Answering]:
    with serving() as running:
        yield running


@pytest_asyncio.fixture
async def chat(server: Answering) -> AsyncIterator[OpenAIModel]:
    model = OpenAIModel(Endpoint("m", f"{server.address}/v1", key=KEY))
    yield model
    await model.close()


@pytest_asyncio.fixture
async def form(server: Answering) -> AsyncIterator[ResponsesModel]:
    model = ResponsesModel(Endpoint("m", f"{server.address}/v1", key=KEY))
    yield model
    await model.close()


def completion(message: dict[str, Any], finish: str = "stop") -> ChatCompletion:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": None, **message}}
    whole = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return ChatCompletion.model_validate(whole | {"usage": CHAT_USAGE})


def chunks(*deltas: dict[str, Any], finish: str | None = "stop", usage: bool = True) -> list[Any]:
    base = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    found = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    if finish:
        found.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        found.append({**base, "choices": [], "usage": CHAT_USAGE})
    return [ChatCompletionChunk.model_validate(chunk) for chunk in found]


def response(*output: dict[str, Any], status: str = "completed", **more: Any) -> r.Response:
    whole = {"id": "r1", "created_at": 1, "model": "m", "object": "response", "parallel_tool_calls": True}
    whole |= {"tool_choice": "auto", "tools": [], "output": list(output), "status": status, "usage": RESPONSES_USAGE}
    return r.Response.model_validate(whole | more)


def said(text: str, kind: str = "output_text") -> dict[str, Any]:
    part = {"type": kind, "refusal": text} if kind == "refusal" else {"type": kind, "text": text, "annotations": []}
    return {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}


CALL = {"type": "function_call", "call_id": "c2", "name": "weather", "arguments": '{"city": "Rom"}'}


@pytest.mark.parametrize("choice", CHOICES)
async def test_chat_tools_both_ways(server: Answering, chat: OpenAIModel, choice: str) -> None:
    function = {"name": "weather", "arguments": '{"city": "Rom"}'}
    calls = [{"id": "c2", "type": "function", "function": function}]
    server.reactions = [Reaction(completion({"tool_calls": calls}, "tool_calls"))]
    reply = await chat.reply(ModelRequest(HISTORY, tools=(WEATHER,), tool_choice=choice))
    assert reply.tool_calls == (ToolCall("c2", "weather", '{"city": "Rom"}'),)
    assert (reply.text, reply.finish_reason) == ("", "tool_calls")
    asked = server.asked[0]
    assert asked["tools"][0]["function"]["parameters"] == dict(WEATHER.parameters)
    named = {"type": "function", "function": {"name": "weather"}}
    assert asked["tool_choice"] == (named if choice == "weather" else choice)
    assert asked["messages"][1]["tool_calls"][0]["function"] == {"name": "weather", "arguments": '{"city": "Oslo"}'}
    assert asked["messages"][2] == {"role": "tool", "tool_call_id": "c1", "content": "rain"}


async def test_chat_usage_counts_cached_and_reasoning_tokens_once(server: Answering, chat: OpenAIModel) -> None:
    server.reactions = [Reaction(completion({"content": "hi"}))]
    reply = await chat.reply(REQUEST)
    assert reply.usage == Usage(100, 7, cached_tokens=60)
    assert reply.raw_usage["completion_tokens_details"]["reasoning_tokens"] == 3


async def test_a_chat_refusal_is_filtered_content(server: Answering, chat: OpenAIModel) -> None:
    server.reactions = [Reaction(completion({"refusal": "I will not"}))]
    reply = await chat.reply(REQUEST)
    assert (reply.text, reply.finish_reason) == ("I will not", "content_filter")


async def test_a_chat_stream_is_heard_in_pieces_with_its_tools_and_usage(server: Answering, chat: OpenAIModel) -> None:
    first = {"tool_calls": [{"index": 0, "id": "c2", "function": {"name": "weather", "arguments": '{"ci'}}]}
    rest = {"tool_calls": [{"index": 0, "function": {"arguments": 'ty": "Rom"}'}}]}
    pieces = chunks({"content": "Hel"}, {"content": "lo"}, first, rest, finish="tool_calls")
    server.reactions = [Reaction(events(pieces, named=False, done=True))]
    heard: list[str] = []
    reply = await chat.reply(ModelRequest(REQUEST.messages, tools=(WEATHER,), on_text=heard.append))
    assert (heard, reply.text) == (["Hel", "lo"], "Hello")
    assert reply.tool_calls == (ToolCall("c2", "weather", '{"city": "Rom"}'),)
    assert (reply.usage, reply.finish_reason) == (Usage(100, 7, cached_tokens=60), "tool_calls")
    assert server.asked[0]["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    "pieces",
    [chunks({"content": "half"}, finish=None, usage=False), [*chunks({"content": "half"}, finish=None), BREAK]],
    ids=["ends early", "connection lost"],
)
async def test_a_broken_chat_stream_may_have_been_billed(server: Answering, chat: OpenAIModel, pieces: Any) -> None:
    server.reactions = [Reaction(events(pieces, named=False))]
    heard: list[str] = []
    with pytest.raises(WorldError) as caught:
        await chat.reply(ModelRequest(REQUEST.messages, on_text=heard.append))
    assert caught.value.passing and caught.value.maybe_billed
    assert heard == ["half"]


@pytest.mark.parametrize("choice", CHOICES)
async def test_responses_tools_both_ways(server: Answering, form: ResponsesModel, choice: str) -> None:
    server.reactions = [Reaction(response(said("let me see"), CALL))]
    reply = await form.reply(ModelRequest(HISTORY, tools=(WEATHER,), tool_choice=choice, temperature=0.5))
    assert reply.tool_calls == (ToolCall("c2", "weather", '{"city": "Rom"}'),)
    assert (reply.text, reply.finish_reason) == ("let me see", "tool_calls")
    assert reply.usage == Usage(100, 7, cached_tokens=60)
    asked = server.asked[0]
    assert server.paths == ["/v1/responses"]
    assert (asked["store"], asked["temperature"]) == (False, 0.5)
    assert asked["tool_choice"] == ({"type": "function", "name": "weather"} if choice == "weather" else choice)
    assert asked["input"][1:] == [
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Oslo"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "rain"},
    ]


async def test_responses_schema_and_stop_texts(server: Answering, form: ResponsesModel) -> None:
    server.reactions = [Reaction(response(said("one STOP two")))]
    heard: list[str] = []
    request = ModelRequest(REQUEST.messages, 9, json_schema={"type": "object"}, stop=("STOP",), on_text=heard.append)
    reply = await form.reply(request)
    assert (reply.text, reply.finish_reason, heard) == ("one ", "stop", [])
    asked = server.asked[0]
    assert asked["text"]["format"]["schema"] == {"type": "object"} and asked["text"]["format"]["strict"] is True
    assert asked["max_output_tokens"] == 16, "the API takes no less"
    assert "stop" not in asked and "stream" not in asked


async def test_responses_that_were_cut_or_refused(server: Answering, form: ResponsesModel) -> None:
    cut = response(said("half"), status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    server.reactions = [Reaction(cut), Reaction(response(said("no", "refusal")))]
    assert (await form.reply(REQUEST)).finish_reason == "length"
    refused = await form.reply(REQUEST)
    assert (refused.text, refused.finish_reason) == ("no", "content_filter")


async def test_a_failed_response_is_a_fault(server: Answering, form: ResponsesModel) -> None:
    failed = response(status="failed", error={"code": "server_error", "message": "oops"})
    server.reactions = [Reaction(failed)]
    with pytest.raises(WorldError, match="oops") as caught:
        await form.reply(REQUEST)
    assert caught.value.maybe_billed


def delta(text: str) -> dict[str, Any]:
    place = {"item_id": "m1", "output_index": 0, "content_index": 0, "sequence_number": 1, "logprobs": []}
    return {"type": "response.output_text.delta", "delta": text, **place}


async def test_a_responses_stream_is_heard_in_pieces(server: Answering, form: ResponsesModel) -> None:
    end = r.ResponseCompletedEvent(type="response.completed", sequence_number=9, response=response(said("Hello")))
    server.reactions = [Reaction(events([delta("Hel"), delta("lo"), end], named=True))]
    heard: list[str] = []
    reply = await form.reply(ModelRequest(REQUEST.messages, on_text=heard.append))
    assert (heard, reply.text, reply.usage) == (["Hel", "lo"], "Hello", Usage(100, 7, cached_tokens=60))


@pytest.mark.parametrize(
    "end",
    [
        [],
        [BREAK],
        [{"type": "error", "code": "x", "message": "overloaded", "param": None, "sequence_number": 3}],
        [{"type": "response.failed", "sequence_number": 3, "response": response(status="failed").model_dump()}],
    ],
    ids=["ends early", "connection lost", "error event", "failed"],
)
async def test_a_broken_responses_stream_may_have_been_billed(
    server: Answering, form: ResponsesModel, end: list[Any]
) -> None:
    server.reactions = [Reaction(events([delta("half"), *end], named=True))]
    with pytest.raises(WorldError) as caught:
        await form.reply(ModelRequest(REQUEST.messages, on_text=lambda _: None))
    assert caught.value.passing and caught.value.maybe_billed


async def test_what_the_responses_form_cannot_do_is_refused(server: Answering, form: ResponsesModel) -> None:
    assert form.capabilities == {Capability.JSON_SCHEMA, Capability.TOOLS}
    for request in (ModelRequest(REQUEST.messages, labels=("a", "b")), ModelRequest(REQUEST.messages, style="plain")):
        with pytest.raises(UserError, match="api: chat"):
            await form.reply(request)
    assert server.asked == []


def test_the_form_and_sampling_are_settings() -> None:
    environment = {"OPENAI_API_KEY": KEY}
    chat = open_model(ModelSettings(model="openai:m"), environment=environment)
    other = open_model(ModelSettings(model="openai:m", api="responses"), environment=environment)
    assert other.identity == f"{chat.identity}#responses"
    with pytest.raises(UserError, match="no use for api"):
        open_model(ModelSettings(model="scripted:x", api="responses"), environment={}, scripted={"x": lambda q, g: ""})


async def test_sampling_is_left_out_where_the_model_refuses_it(server: Answering) -> None:
    words = "Unsupported value: 'temperature' does not support 0 with this model."
    server.reactions = [
        Reaction({"error": {"message": words, "type": "invalid_request_error", "code": "unsupported_value"}}, 400),
        Reaction(completion({"content": "hi"})),
    ]
    endpoint = Endpoint("m", f"{server.address}/v1", key=KEY)
    model, quiet = OpenAIModel(endpoint), OpenAIModel(Endpoint("m", endpoint.base_url, key=KEY, sampling=False))
    with pytest.raises(WorldError, match="send_sampling: false"):
        await model.reply(REQUEST)
    await quiet.reply(REQUEST)
    assert {"temperature", "seed"} & server.asked[0].keys() and not {"temperature", "seed"} & server.asked[1].keys()
    await model.close()
    await quiet.close()
