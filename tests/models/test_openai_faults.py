"""The SDK against a real HTTP server that answers as told."""

from collections.abc import Iterator
from typing import Any

import pytest

from evolve.core.errors import WorldError
from evolve.core.messages import Message, ModelRequest, Usage
from evolve.models.endpoint import Endpoint
from evolve.models.errors import PromptTooLong
from evolve.models.openai import OpenAIModel
from tests.models.answering import Answering, Reaction, serving

KEY = "sk-very-secret-1234567890"
REQUEST = ModelRequest((Message("user", "q"),))


@pytest.fixture
def server() -> Iterator[Answering]:
    with serving() as running:
        yield running


def model_at(server: Answering, **settings: Any) -> OpenAIModel:
    endpoint = Endpoint("m", f"{server.address}/v1", key=KEY, key_name="SOME_KEY", **settings)
    return OpenAIModel(endpoint, clock=lambda: 1_700_000_000.0)


def answer(text: str = "hi", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]} | more


@pytest.mark.parametrize(
    ("status", "headers", "passing", "retry_after"),
    [
        (429, {"retry-after": "2"}, True, 2.0),
        (429, {"retry-after": "86400"}, True, 86_400.0),
        (429, {"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, True, 30.0),
        (429, {}, True, None),
        (500, {}, True, None),
        (503, {"retry-after": "1"}, True, 1.0),
        (529, {}, True, None),
        (408, {}, True, None),
        (400, {}, False, None),
        (401, {}, False, None),
        (402, {"retry-after": "1"}, False, None),
        (403, {}, False, None),
        (404, {}, False, None),
        (422, {}, False, None),
    ],
)
async def test_refusals(
    server: Answering, status: int, headers: dict[str, str], passing: bool, retry_after: float | None
) -> None:
    body = {"error": {"message": f"no, not with {KEY}", "type": "t", "code": None}}
    server.reactions = [Reaction(body, status, headers)]
    model = model_at(server)
    with pytest.raises(WorldError) as caught:
        await model.reply(REQUEST)
    await model.close()
    assert (caught.value.passing, caught.value.retry_after) == (passing, retry_after)
    assert caught.value.halts == (status in (401, 402, 404)), "what every other call would meet halts the campaign"
    assert KEY not in repr(caught.value)
    assert caught.value.__cause__ is None
    assert str(status) in str(caught.value)
    assert len(server.asked) == 1, "the SDK must not retry on its own"


async def test_a_refused_key_names_its_variable(server: Answering) -> None:
    server.reactions = [Reaction({"error": {"message": f"Incorrect API key provided: {KEY[:5]}***7890"}}, 401)]
    model = model_at(server)
    with pytest.raises(WorldError, match=r"\$SOME_KEY") as caught:
        await model.reply(REQUEST)
    await model.close()
    assert "7890" not in str(caught.value)
    assert KEY not in repr(Endpoint("m", "http://x", key=KEY))


async def test_an_empty_account_is_not_passing(server: Answering) -> None:
    server.reactions = [Reaction({"error": {"message": "pay", "code": "insufficient_quota"}}, 429)]
    model = model_at(server)
    with pytest.raises(WorldError) as caught:
        await model.reply(REQUEST)
    await model.close()
    assert not caught.value.passing
    assert caught.value.halts


@pytest.mark.parametrize(
    "error", [{"code": "context_length_exceeded"}, {"code": 400, "type": "exceed_context_size_error"}]
)
async def test_a_prompt_over_the_context(server: Answering, error: dict[str, Any]) -> None:
    server.reactions = [Reaction({"error": {"message": "too long"} | error}, 400)]
    model = model_at(server)
    with pytest.raises(PromptTooLong):
        await model.reply(REQUEST)
    await model.close()


async def test_no_connection_and_no_answer_are_passing(server: Answering) -> None:
    server.reactions = [Reaction(answer(), hang=5)]
    slow = model_at(server, timeout_seconds=0.2)
    gone = OpenAIModel(Endpoint("m", "http://127.0.0.1:9/v1"))
    for model, billed in ((slow, True), (gone, False)):
        with pytest.raises(WorldError) as caught:
            await model.reply(REQUEST)
        await model.close()
        assert (caught.value.passing, caught.value.maybe_billed) == (True, billed)


@pytest.mark.parametrize("body", ["<html>hello</html>", {}, {"choices": []}, {"choices": [{"index": 0}]}])
async def test_an_answer_in_another_format(server: Answering, body: Any) -> None:
    server.reactions = [Reaction(body)]
    model = model_at(server)
    with pytest.raises(WorldError) as caught:
        await model.reply(REQUEST)
    await model.close()
    assert not caught.value.passing
    assert caught.value.maybe_billed


async def test_usage_with_cached_and_written_tokens(server: Answering) -> None:
    details = {"cached_tokens": 70, "cache_write_tokens": 20}
    server.reactions = [
        Reaction(answer(usage={"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": details}))
    ]
    model = model_at(server)
    reply = await model.reply(REQUEST)
    await model.close()
    assert reply.usage == Usage(100, 5, cached_tokens=70, cache_write_tokens=20)


async def test_without_usage_nothing_is_claimed_and_the_books_charge_the_bound(server: Answering) -> None:
    server.reactions = [Reaction(answer())]
    model = model_at(server)
    reply = await model.reply(REQUEST)
    await model.close()
    assert reply.usage == Usage()


async def test_what_is_asked(server: Answering) -> None:
    server.reactions = [Reaction(answer())]
    model = model_at(server)
    schema = {"type": "object"}
    await model.reply(ModelRequest(REQUEST.messages, 9, 0.5, 2**62, stop=("\n",), json_schema=schema))
    await model.close()
    assert server.asked[0]["max_tokens"] == 9
    assert server.asked[0]["temperature"] == 0.5
    assert 0 <= server.asked[0]["seed"] < 2**31
    assert server.asked[0]["stop"] == ["\n"]
    assert server.asked[0]["response_format"]["json_schema"]["schema"] == schema
