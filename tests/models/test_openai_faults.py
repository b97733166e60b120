"""What goes wrong with an endpoint, over real HTTP: what passes, what halts, what may have been billed."""

import dataclasses
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
import pytest_asyncio

from evolve.core.errors import WorldError
from evolve.core.messages import Message, ModelRequest, Usage
from evolve.models.errors import PromptTooLong
from evolve.models.openai import OpenAIModel
from evolve.models.openai_endpoint import OpenAIEndpoint
from tests.models.openai_server import (
    KEY,
    Dropped,
    OpenAIServer,
    Reply,
    completion,
    message_item,
    response,
    serving,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

REQUEST = ModelRequest((Message("user", "q"),))


@pytest.fixture(scope="module")
def running() -> Iterator[OpenAIServer]:
    with serving() as server:
        yield server


@pytest.fixture
def server(running: OpenAIServer) -> OpenAIServer:
    running.forget()
    return running


@pytest.fixture(params=["chat", "responses"])
def endpoint(request: pytest.FixtureRequest, server: OpenAIServer) -> OpenAIEndpoint:
    return OpenAIEndpoint("m", server.address, key=KEY, key_name="SOME_KEY", api=request.param)


Fail = Callable[..., Awaitable[WorldError]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fail() -> AsyncIterator[Fail]:
    """The fault of one call, which holds neither the key nor the SDK's error that knows it."""
    opened: dict[OpenAIEndpoint, OpenAIModel] = {}

    async def call(endpoint: OpenAIEndpoint, request: ModelRequest = REQUEST) -> WorldError:
        if endpoint not in opened:
            opened[endpoint] = OpenAIModel(endpoint, clock=lambda: 1_700_000_000.0)
        with pytest.raises(WorldError) as caught:
            await opened[endpoint].reply(request)
        assert KEY not in repr(caught.value) + str(caught.value) + repr(opened[endpoint]) + repr(endpoint)
        assert caught.value.__cause__ is caught.value.__context__ is None
        return caught.value

    yield call
    for model in opened.values():
        await model.close()


def error(message: str = "no", status: int = 400, headers: Any = None, **more: Any) -> Reply:
    return Reply({"error": {"message": message, "type": "t", "code": None} | more}, status, headers or {})


@pytest.mark.parametrize(
    ("status", "headers", "passing", "halts", "retry_after"),
    [
        (429, {"retry-after": "2"}, True, False, 2.0),
        (429, {"retry-after": "86400"}, True, False, 86_400.0),
        (429, {"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, True, False, 30.0),
        (429, {"x-ratelimit-reset-requests": "6m0s", "x-ratelimit-remaining-requests": "0"}, True, False, 360.0),
        (429, {}, True, False, None),
        (500, {}, True, False, None),
        (503, {"retry-after": "1"}, True, False, 1.0),
        (529, {}, True, False, None),
        (408, {}, True, False, None),
        (409, {}, True, False, None),
        (400, {"retry-after": "1"}, False, False, None),
        (422, {}, False, False, None),
        (401, {}, False, True, None),
        (402, {"retry-after": "1"}, False, True, None),
        (403, {}, False, True, None),
        (404, {}, False, True, None),
    ],
)
async def test_refusals(
    server: OpenAIServer,
    fail: Fail,
    endpoint: OpenAIEndpoint,
    status: int,
    headers: dict[str, str],
    passing: bool,
    halts: bool,
    retry_after: float | None,
) -> None:
    server.answers(error(f"no, not with {KEY}", status, headers))
    fault = await fail(endpoint)
    assert (fault.passing, fault.halts, fault.retry_after, fault.maybe_billed) == (
        passing,
        halts,
        retry_after,
        status == 408,
    )
    assert str(status) in str(fault)
    assert len(server.asked) == 1, "the SDK must not retry on its own"


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_names_its_variable_and_shows_no_part_of_it(
    server: OpenAIServer, fail: Fail, endpoint: OpenAIEndpoint, status: int
) -> None:
    server.answers(error(f"Incorrect API key provided: {KEY[:5]}***7890. See {KEY}", status))
    fault = await fail(endpoint)
    assert "$SOME_KEY" in str(fault)
    assert "7890" not in str(fault) and KEY[:5] not in str(fault)


async def test_an_empty_account_halts(server: OpenAIServer, fail: Fail, endpoint: OpenAIEndpoint) -> None:
    server.answers(error("pay", 429, {"retry-after": "1"}, code="insufficient_quota"))
    fault = await fail(endpoint)
    assert (fault.passing, fault.halts, fault.retry_after) == (False, True, None)
    assert "add credit" in str(fault)


async def test_a_missing_model_says_where_to_look(server: OpenAIServer, fail: Fail, endpoint: OpenAIEndpoint) -> None:
    server.answers(error("The model does not exist", 404, code="model_not_found"))
    fault = await fail(endpoint)
    assert "base_url" in str(fault)
    assert ("api: responses" in str(fault)) == (endpoint.api == "responses")


@pytest.mark.parametrize("codes", [{"code": "context_length_exceeded"}, {"type": "exceed_context_size_error"}])
async def test_a_prompt_over_the_context(
    server: OpenAIServer, fail: Fail, endpoint: OpenAIEndpoint, codes: dict[str, Any]
) -> None:
    server.answers(error("too long", **codes))
    assert isinstance(await fail(endpoint), PromptTooLong)


@pytest.mark.parametrize(
    "refusal",
    [
        {"message": "Unsupported value: 'temperature' does not support 0 with this model.", "param": "temperature"},
        {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "param": "max_tokens"},
        {"message": "unknown field seed"},
    ],
)
async def test_a_refused_sampling_parameter_names_the_setting(
    server: OpenAIServer, fail: Fail, endpoint: OpenAIEndpoint, refusal: dict[str, Any]
) -> None:
    server.answers(error(**refusal))
    assert "send_sampling: false" in str(await fail(endpoint))
    assert "send_sampling" not in str(await fail(dataclasses.replace(endpoint, sampling=False)))


@pytest.mark.parametrize("refusal", [{"message": "no", "param": "messages"}, {"message": "seeds and temperatures"}])
async def test_another_bad_request_names_no_setting(
    server: OpenAIServer, fail: Fail, endpoint: OpenAIEndpoint, refusal: dict[str, Any]
) -> None:
    server.answers(error(**refusal))
    assert "fix" not in str(await fail(endpoint))


async def test_too_short_a_response_says_how_long_it_must_be(
    server: OpenAIServer, fail: Fail, endpoint: OpenAIEndpoint
) -> None:
    server.answers(error("Invalid 'max_output_tokens': integer below minimum value.", param="max_output_tokens"))
    assert "raise max_tokens" in str(await fail(endpoint))


async def test_no_connection_costs_nothing_and_passes(
    server: OpenAIServer, fail: Fail, endpoint: OpenAIEndpoint
) -> None:
    fault = await fail(dataclasses.replace(endpoint, base_url="http://127.0.0.1:9/v1"))
    assert (fault.passing, fault.halts, fault.maybe_billed) == (True, False, False)


async def test_a_connection_lost_after_sending_may_have_been_billed(
    server: OpenAIServer, fail: Fail, endpoint: OpenAIEndpoint
) -> None:
    server.answers(Dropped())
    fault = await fail(endpoint)
    assert (fault.passing, fault.halts, fault.maybe_billed) == (True, False, True)


async def test_no_answer_in_time_may_have_been_billed(
    server: OpenAIServer, fail: Fail, endpoint: OpenAIEndpoint
) -> None:
    server.answers(Reply({}, seconds=0.5))
    fault = await fail(dataclasses.replace(endpoint, timeout_seconds=0.1))
    assert (fault.passing, fault.halts, fault.maybe_billed) == (True, False, True)


@pytest.mark.parametrize(
    "body",
    [
        "<html>hello</html>",
        "",
        "[" * 100_000,
        [],
        {},
        {"error": {"message": "in vain"}},
        {"choices": []},
        {"choices": [{"index": 0}]},
        {"choices": [{"finish_reason": "stop", "message": {"content": ["no text"]}}]},
        {"choices": [{"finish_reason": "stop", "message": {"tool_calls": [{"id": "1", "function": {"name": "f"}}]}}]},
        {"status": "queued", "output": []},
        {"status": "completed"},
        {"status": "completed", "output": [{"type": "message", "content": [{"type": "output_text"}]}]},
        {"status": "completed", "output": [{"type": "function_call", "call_id": "1", "name": "f", "arguments": {}}]},
    ],
)
async def test_an_answer_in_another_format_may_have_been_billed_and_is_not_asked_for_again(
    server: OpenAIServer, fail: Fail, endpoint: OpenAIEndpoint, body: Any
) -> None:
    server.answers(Reply(body))
    fault = await fail(endpoint)
    assert (fault.passing, fault.halts, fault.maybe_billed) == (False, False, True)


@pytest.mark.parametrize(("code", "passing"), [("server_error", True), ("invalid_prompt", False)])
async def test_a_failed_response_passes_unless_the_request_is_to_blame(
    server: OpenAIServer, fail: Fail, code: str, passing: bool
) -> None:
    server.answers(Reply(response(status="failed", error={"code": code, "message": "failed"})))
    fault = await fail(OpenAIEndpoint("m", server.address, key=KEY, api="responses"))
    assert (fault.passing, fault.halts, fault.maybe_billed) == (passing, False, True)


@pytest.mark.parametrize(
    ("details", "finish"),
    [({"reason": "max_output_tokens"}, "length"), ({"reason": "content_filter"}, "content_filter"), (None, "other")],
)
async def test_an_incomplete_response_says_why(server: OpenAIServer, details: Any, finish: str) -> None:
    item = message_item(("output_text", "Par"))
    server.answers(Reply(response(item, status="incomplete", incomplete_details=details)))
    model = OpenAIModel(OpenAIEndpoint("m", server.address, key=KEY, api="responses"))
    reply = await model.reply(REQUEST)
    await model.close()
    assert (reply.text, reply.finish_reason) == ("Par", finish)


async def test_the_key_is_in_no_log_and_nothing_else_of_the_environment_is_sent(
    server: OpenAIServer, endpoint: OpenAIEndpoint, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "of-somebody-else")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-own: of-somebody-else\nAuthorization: of-somebody-else")
    body = completion(content="hi") if endpoint.api == "chat" else response(message_item(("output_text", "hi")))
    server.answers(Reply(body))
    model = OpenAIModel(endpoint)
    with caplog.at_level(logging.DEBUG):
        await model.reply(REQUEST)
        await model.close()
    assert caplog.records and KEY not in caplog.text
    assert "of-somebody-else" not in repr(server.asked)


async def test_labels_without_log_probabilities_were_paid_for_nothing(server: OpenAIServer, fail: Fail) -> None:
    server.answers(Reply(completion(content="a")))
    fault = await fail(OpenAIEndpoint("m", server.address, key=KEY), ModelRequest(REQUEST.messages, labels=("a", "b")))
    assert (fault.passing, fault.maybe_billed) == (False, True)


async def test_stop_sequences_are_sent_with_chat(server: OpenAIServer) -> None:
    server.answers(Reply(completion(content="hi", usage=None)))
    model = OpenAIModel(OpenAIEndpoint("m", server.address, key=KEY))
    reply = await model.reply(ModelRequest(REQUEST.messages, stop=("\n",)))
    await model.close()
    assert server.body["stop"] == ["\n"]
    assert reply.usage == Usage(), "the books charge what is not told at its bound"
