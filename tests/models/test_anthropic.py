"""The anthropic provider: the SDK against a real server whose answers are built from the SDK's own types."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
from anthropic import types as t

from evolve.core.errors import UserError, WorldError
from evolve.core.messages import Capability, Message, ModelRequest, ToolCall, ToolSpec, Usage
from evolve.models import ModelSettings, open_model
from evolve.models.anthropic import LONG_ANSWER, AnthropicModel
from evolve.models.endpoint import Endpoint
from evolve.models.errors import PromptTooLong
from tests.models.answering import BREAK, Answering, Reaction, events, serving

KEY = "sk-ant-very-secret-1234567890"
REQUEST = ModelRequest((Message("system", "be brief"), Message("user", "q")))
WEATHER = ToolSpec("weather", "tells it", {"type": "object", "properties": {"city": {"type": "string"}}})
NOW = 1_700_000_000.0


@pytest.fixture
def server() -> Iterator[Answering]:
    with serving() as running:
        yield running


@pytest_asyncio.fixture
async def model(server: Answering) -> AsyncIterator[AnthropicModel]:
    opened = model_at(server)
    yield opened
    await opened.close()


def model_at(server: Answering, *, cache: bool = False, **settings: Any) -> AnthropicModel:
    endpoint = Endpoint("claude-sonnet-4-5", server.address, key=KEY, key_name="SOME_KEY", **settings)
    return AnthropicModel(endpoint, cache=cache, clock=lambda: NOW)


def usage(**counts: Any) -> t.Usage:
    return t.Usage(**{"input_tokens": 10, "output_tokens": 5, **counts})


def message(*content: Any, stop_reason: Any = "end_turn", counts: t.Usage | None = None) -> t.Message:
    blocks = content or (t.TextBlock(type="text", text="hi"),)
    return t.Message(
        id="msg_1",
        content=list(blocks),
        model="claude-sonnet-4-5",
        role="assistant",
        stop_reason=stop_reason,
        stop_sequence=None,
        type="message",
        usage=counts or usage(),
    )


def stream(*texts: str, tool: bool = False, stop_reason: Any = "end_turn", end: bool = True) -> list[Any]:
    """A message in events: its text in pieces, then, with `tool`, a call whose input comes in pieces."""
    start = message(counts=usage(output_tokens=1, cache_read_input_tokens=60, cache_creation_input_tokens=30))
    start.content = []
    start.stop_reason = None
    found: list[Any] = [t.RawMessageStartEvent(type="message_start", message=start)]
    blocks: list[tuple[Any, list[Any]]] = [
        (t.TextBlock(type="text", text=""), [t.TextDelta(type="text_delta", text=text) for text in texts])
    ]
    if tool:
        pieces = [t.InputJSONDelta(type="input_json_delta", partial_json=p) for p in ('{"city": ', '"Rome"}')]
        blocks.append((t.ToolUseBlock(type="tool_use", id="c1", name="weather", input={}), pieces))
    for index, (block, deltas) in enumerate(blocks):
        found.append(t.RawContentBlockStartEvent(type="content_block_start", index=index, content_block=block))
        found += [t.RawContentBlockDeltaEvent(type="content_block_delta", index=index, delta=d) for d in deltas]
        found.append(t.RawContentBlockStopEvent(type="content_block_stop", index=index))
    if end:
        delta = {"stop_reason": stop_reason, "stop_sequence": None}
        counts = {"output_tokens": 7}
        found.append({"type": "message_delta", "delta": delta, "usage": counts})
        found.append(t.RawMessageStopEvent(type="message_stop"))
    return found


async def test_a_message_is_asked_and_read_in_the_apis_form(server: Answering, model: AnthropicModel) -> None:
    server.reactions = [Reaction(message())]
    request = ModelRequest(
        (Message("system", "be brief"), Message("user", "a"), Message("user", "b"), Message("assistant", "c")),
        max_tokens=9,
        temperature=1.7,
        stop=("END", "\n"),
    )
    reply = await model.reply(request)
    assert (reply.text, reply.finish_reason, reply.usage) == ("hi", "stop", Usage(10, 5))
    assert reply.raw_usage["input_tokens"] == 10 and reply.seconds > 0
    (asked,), (headers,) = server.asked, server.request_headers
    assert server.paths == ["/v1/messages"]
    assert KEY in headers.get("x-api-key", "") + headers.get("authorization", "")
    assert headers["anthropic-version"]
    assert asked["system"] == [{"type": "text", "text": "be brief"}]
    assert [turn["role"] for turn in asked["messages"]] == ["user", "assistant"]
    assert [block["text"] for block in asked["messages"][0]["content"]] == ["a", "b"]
    assert (asked["max_tokens"], asked["temperature"], asked["stop_sequences"]) == (9, 1.0, ["END"])
    assert "seed" not in asked


async def test_a_stop_text_of_white_space_is_applied_here(server: Answering, model: AnthropicModel) -> None:
    server.reactions = [Reaction(message(t.TextBlock(type="text", text="one\ntwo")))]
    reply = await model.reply(ModelRequest(REQUEST.messages, stop=("\n",)))
    assert (reply.text, reply.finish_reason) == ("one", "stop")
    assert "stop_sequences" not in server.asked[0]


async def test_a_schema_goes_out_as_structured_output(server: Answering, model: AnthropicModel) -> None:
    server.reactions = [Reaction(message(t.TextBlock(type="text", text='{"a": 1}')))]
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    await model.reply(ModelRequest(REQUEST.messages, json_schema=schema))
    sent = server.asked[0]["output_config"]["format"]
    assert sent["type"] == "json_schema" and sent["schema"]["properties"] == schema["properties"]
    assert sent["schema"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("weather", {"type": "tool", "name": "weather"}),
    ],
)
async def test_tools_both_ways(server: Answering, model: AnthropicModel, choice: str, sent: Any) -> None:
    call = t.ToolUseBlock(type="tool_use", id="c2", name="weather", input={"city": "Rom"})
    server.reactions = [Reaction(message(t.TextBlock(type="text", text="let me see"), call, stop_reason="tool_use"))]
    history = (
        Message("user", "q"),
        Message("assistant", "", (ToolCall("c1", "weather", '{"city": "Oslo"}'),)),
        Message("tool", "rain", tool_call_id="c1"),
    )
    reply = await model.reply(ModelRequest(history, tools=(WEATHER,), tool_choice=choice))
    assert reply.tool_calls == (ToolCall("c2", "weather", '{"city": "Rom"}'),)
    assert (reply.text, reply.finish_reason) == ("let me see", "tool_calls")
    asked = server.asked[0]
    assert asked["tool_choice"] == sent
    assert asked["tools"][0]["input_schema"] == dict(WEATHER.parameters)
    use, result = asked["messages"][1]["content"], asked["messages"][2]["content"]
    assert use == [{"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}}]
    assert result == [{"type": "tool_result", "tool_use_id": "c1", "content": "rain"}]


async def test_what_repeats_is_marked_as_cacheable_only_when_wanted(server: Answering) -> None:
    server.reactions = [Reaction(message())]
    for cache in (True, False):
        model = model_at(server, cache=cache)
        await model.reply(ModelRequest(REQUEST.messages, tools=(WEATHER,)))
        await model.close()
    with_cache, without = server.asked
    assert with_cache["system"][0]["cache_control"] == with_cache["tools"][-1]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in json.dumps(without)


async def test_a_stream_is_heard_in_pieces_and_counted_exactly(server: Answering, model: AnthropicModel) -> None:
    server.reactions = [Reaction(events(stream("Hel", "lo", tool=True, stop_reason="tool_use"), named=True))]
    heard: list[str] = []
    reply = await model.reply(ModelRequest(REQUEST.messages, tools=(WEATHER,), on_text=heard.append))
    assert (heard, reply.text) == (["Hel", "lo"], "Hello")
    assert reply.tool_calls == (ToolCall("c1", "weather", '{"city": "Rome"}'),)
    assert reply.finish_reason == "tool_calls"
    assert reply.usage == Usage(100, 7, cached_tokens=60, cache_write_tokens=30)
    assert server.asked[0]["stream"] is True


async def test_a_follower_never_hears_past_a_stop_text_of_white_space(server: Answering, model: AnthropicModel) -> None:
    server.reactions = [Reaction(events(stream("one", "\ntw", "o"), named=True))]
    heard: list[str] = []
    reply = await model.reply(ModelRequest(REQUEST.messages, stop=("\n",), on_text=heard.append))
    assert ("".join(heard), reply.text, reply.finish_reason) == ("one", "one", "stop")


async def test_a_stream_that_trickles_ends_with_the_limit_of_the_whole_call(server: Answering) -> None:
    server.reactions = [Reaction(events(stream("a", "b", "c", "d", "e", "f"), named=True), trickle=0.3)]
    slow = model_at(server, timeout_seconds=0.8)
    with pytest.raises(WorldError, match=r"within 0\.8 s") as caught:
        await slow.reply(ModelRequest(REQUEST.messages, on_text=lambda _: None))
    await slow.close()
    assert caught.value.maybe_billed


async def test_a_whole_answer_where_a_stream_was_asked_is_not_asked_for_again(
    server: Answering, model: AnthropicModel
) -> None:
    server.reactions = [Reaction(message())]
    with pytest.raises(WorldError, match="stream") as caught:
        await model.reply(ModelRequest(REQUEST.messages, on_text=lambda _: None))
    assert caught.value.maybe_billed and not caught.value.passing


async def test_no_redirect_carries_the_key_away(server: Answering, model: AnthropicModel) -> None:
    with serving() as elsewhere:
        elsewhere.reactions = [Reaction(message())]
        server.reactions = [Reaction({}, 307, {"location": f"{elsewhere.address}/v1/messages"})]
        with pytest.raises(WorldError):
            await model.reply(REQUEST)
        assert elsewhere.asked == []


async def test_turns_that_the_api_would_refuse_are_mended(server: Answering, model: AnthropicModel) -> None:
    server.reactions = [Reaction(message())]
    await model.reply(ModelRequest((Message("assistant", "The answer is \ud800: "),)))
    first, last = server.asked[0]["messages"]
    assert (first["role"], last["role"]) == ("user", "assistant")
    assert last["content"][0]["text"] == "The answer is ?:"


async def test_a_very_long_answer_is_streamed_though_nobody_listens(server: Answering, model: AnthropicModel) -> None:
    server.reactions = [Reaction(events(stream("ok"), named=True))]
    assert (await model.reply(ModelRequest(REQUEST.messages, max_tokens=LONG_ANSWER + 1))).text == "ok"


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}


@pytest.mark.parametrize(
    "items",
    [
        stream("half", end=False),
        [*stream("half", end=False), BREAK],
        [*stream("half", end=False), OVERLOADED],
    ],
    ids=["ends early", "connection lost", "error event"],
)
async def test_a_broken_stream_may_have_been_billed(server: Answering, model: AnthropicModel, items: Any) -> None:
    server.reactions = [Reaction(events(items, named=True))]
    heard: list[str] = []
    with pytest.raises(WorldError) as caught:
        await model.reply(ModelRequest(REQUEST.messages, on_text=heard.append))
    assert caught.value.passing and caught.value.maybe_billed
    assert heard == ["half"]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("end_turn", "stop"), ("max_tokens", "length"), ("refusal", "content_filter"), ("pause_turn", "other")],
)
async def test_reasons_to_stop(server: Answering, model: AnthropicModel, reason: str, finish: str) -> None:
    server.reactions = [Reaction(message(stop_reason=reason))]
    assert (await model.reply(REQUEST)).finish_reason == finish


async def test_usage_in_all_its_parts(server: Answering, model: AnthropicModel) -> None:
    parts = t.CacheCreation(ephemeral_5m_input_tokens=20, ephemeral_1h_input_tokens=10)
    counts = usage(cache_read_input_tokens=60, cache_creation_input_tokens=30, cache_creation=parts)
    server.reactions = [Reaction(message(counts=counts))]
    assert (await model.reply(REQUEST)).usage == Usage(100, 5, 60, 30, 10)


def refusal(kind: str, words: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": words}}


@pytest.mark.parametrize(
    ("status", "kind", "words", "passing", "halts"),
    [
        (400, "invalid_request_error", "bad field", False, False),
        (400, "invalid_request_error", "Your credit balance is too low", False, True),
        (401, "authentication_error", f"invalid x-api-key {KEY}", False, True),
        (402, "billing_error", "pay", False, True),
        (403, "permission_error", "no", False, True),
        (404, "not_found_error", "model: claude-nope", False, True),
        (413, "request_too_large", "too large", False, False),
        (429, "rate_limit_error", "slow down", True, False),
        (500, "api_error", "oops", True, False),
        (529, "overloaded_error", "busy", True, False),
    ],
)
async def test_refusals(
    server: Answering, model: AnthropicModel, status: int, kind: str, words: str, passing: bool, halts: bool
) -> None:
    server.reactions = [Reaction(refusal(kind, words), status)]
    with pytest.raises(WorldError) as caught:
        await model.reply(REQUEST)
    fault = caught.value
    assert (fault.passing, fault.halts, fault.maybe_billed) == (passing, halts, False)
    assert KEY not in str(fault) and fault.__cause__ is None
    assert len(server.asked) == 1, "the SDK must not retry on its own"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "86400"}, 86_400.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, 30.0),
        ({"anthropic-ratelimit-requests-reset": "2023-11-14T22:13:40Z"}, 20.0),
        ({}, None),
    ],
)
async def test_how_long_to_wait(
    server: Answering, model: AnthropicModel, headers: dict[str, str], seconds: float | None
) -> None:
    server.reactions = [Reaction(refusal("rate_limit_error", "slow"), 429, headers)]
    with pytest.raises(WorldError) as caught:
        await model.reply(REQUEST)
    assert caught.value.retry_after == seconds


async def test_a_prompt_over_the_context(server: Answering, model: AnthropicModel) -> None:
    words = "prompt is too long: 210000 tokens > 200000 maximum"
    server.reactions = [Reaction(refusal("invalid_request_error", words), 400)]
    with pytest.raises(PromptTooLong):
        await model.reply(REQUEST)


async def test_a_refused_temperature_names_the_setting(server: Answering, model: AnthropicModel) -> None:
    server.reactions = [Reaction(refusal("invalid_request_error", "temperature is deprecated for this model"), 400)]
    with pytest.raises(WorldError, match="send_sampling: false"):
        await model.reply(REQUEST)
    quiet = model_at(server, sampling=False)
    server.reactions = [Reaction(message())]
    await quiet.reply(REQUEST)
    await quiet.close()
    assert "temperature" not in server.asked[-1]


async def test_a_time_out_may_have_been_billed_and_a_refused_connection_not(server: Answering) -> None:
    server.reactions = [Reaction(message(), hang=5)]
    slow = model_at(server, timeout_seconds=0.2)
    gone = AnthropicModel(Endpoint("m", "http://127.0.0.1:9", key=KEY))
    for model, billed in ((slow, True), (gone, False)):
        with pytest.raises(WorldError) as caught:
            await model.reply(REQUEST)
        await model.close()
        assert (caught.value.passing, caught.value.maybe_billed) == (True, billed)


@pytest.mark.parametrize("body", ["<html>hello</html>", {"type": "message"}, {"content": [{"type": "text"}]}])
async def test_an_answer_in_another_format_was_billed(server: Answering, model: AnthropicModel, body: Any) -> None:
    server.reactions = [Reaction(body)]
    with pytest.raises(WorldError) as caught:
        await model.reply(REQUEST)
    assert caught.value.maybe_billed and not caught.value.passing


@pytest.mark.parametrize(
    "request_", [ModelRequest(REQUEST.messages, labels=("a", "b")), ModelRequest(REQUEST.messages, style="plain")]
)
async def test_what_the_api_cannot_do_is_refused_before_it_is_sent(
    server: Answering, model: AnthropicModel, request_: ModelRequest
) -> None:
    assert model.capabilities == {Capability.JSON_SCHEMA, Capability.TOOLS}
    with pytest.raises(UserError, match="cannot serve"):
        await model.reply(request_)
    assert server.asked == []


def test_the_key_is_needed_by_name_and_shown_nowhere() -> None:
    settings = ModelSettings(model="anthropic:claude-sonnet-4-5")
    with pytest.raises(UserError, match="ANTHROPIC_API_KEY"):
        open_model(settings, environment={"OPENAI_API_KEY": "x"})
    opened = open_model(settings, environment={"ANTHROPIC_API_KEY": KEY})
    assert opened.identity == "anthropic:claude-sonnet-4-5"
    assert KEY not in repr(opened) + repr(vars(opened.provider)["_endpoint"])
