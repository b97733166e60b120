"""The SDK against a real HTTP server that answers as told."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from evolve.core.errors import WorldError
from evolve.core.messages import Message, ModelRequest, Usage
from evolve.models.errors import PromptTooLong
from evolve.models.openai import Endpoint, OpenAIModel

KEY = "sk-very-secret-1234567890"
REQUEST = ModelRequest((Message("user", "q"),))


class Answering(ThreadingHTTPServer):
    """Gives one prepared answer to every request, and remembers the last body."""

    status = 200
    headers: dict[str, str] = {}  # noqa: RUF012 - replaced, never changed
    body: Any = None
    asked: Any = None
    requests = 0


class Handler(BaseHTTPRequestHandler):
    server: Answering

    def do_POST(self) -> None:
        self.server.requests += 1
        self.server.asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = self.server.body
        data = (text if isinstance(text, str) else json.dumps(text)).encode()
        self.send_response(self.server.status)
        self.send_header("content-type", "text/html" if isinstance(text, str) else "application/json")
        self.send_header("content-length", str(len(data)))
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Silent."""


@pytest.fixture
def server() -> Iterator[Answering]:
    with Answering(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def model_at(server: Answering, **settings: Any) -> OpenAIModel:
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    endpoint = Endpoint("m", address, key=KEY, key_name="SOME_KEY", **settings)
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
    server.status, server.headers = status, headers
    server.body = {"error": {"message": f"no, not with {KEY}", "type": "t", "code": None}}
    model = model_at(server)
    with pytest.raises(WorldError) as caught:
        await model.reply(REQUEST)
    await model.close()
    assert (caught.value.passing, caught.value.retry_after) == (passing, retry_after)
    assert caught.value.halts == (status in (401, 402, 404)), "what every other call would meet halts the campaign"
    assert KEY not in repr(caught.value)
    assert caught.value.__cause__ is None
    assert str(status) in str(caught.value)
    assert server.requests == 1, "the SDK must not retry on its own"


async def test_a_refused_key_names_its_variable(server: Answering) -> None:
    server.status, server.body = 401, {"error": {"message": f"Incorrect API key provided: {KEY[:5]}***7890"}}
    model = model_at(server)
    with pytest.raises(WorldError, match=r"\$SOME_KEY") as caught:
        await model.reply(REQUEST)
    await model.close()
    assert "7890" not in str(caught.value)
    assert KEY not in repr(Endpoint("m", key=KEY))


async def test_an_empty_account_is_not_passing(server: Answering) -> None:
    server.status, server.body = 429, {"error": {"message": "pay", "code": "insufficient_quota"}}
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
    server.status, server.body = 400, {"error": {"message": "too long"} | error}
    model = model_at(server)
    with pytest.raises(PromptTooLong):
        await model.reply(REQUEST)
    await model.close()


async def test_no_connection_and_no_answer_are_passing(server: Answering) -> None:
    gone = OpenAIModel(Endpoint("m", "http://127.0.0.1:9/v1"))
    with pytest.raises(WorldError) as caught:
        await gone.reply(REQUEST)
    await gone.close()
    assert caught.value.passing


@pytest.mark.parametrize("body", ["<html>hello</html>", {}, {"choices": []}, {"choices": [{"index": 0}]}])
async def test_an_answer_in_another_format(server: Answering, body: Any) -> None:
    server.body = body
    model = model_at(server)
    with pytest.raises(WorldError) as caught:
        await model.reply(REQUEST)
    await model.close()
    assert not caught.value.passing


async def test_usage_with_cached_and_written_tokens(server: Answering) -> None:
    details = {"cached_tokens": 70, "cache_write_tokens": 20}
    server.body = answer(usage={"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": details})
    model = model_at(server)
    reply = await model.reply(REQUEST)
    await model.close()
    assert reply.usage == Usage(100, 5, cached_tokens=70, cache_write_tokens=20)


async def test_without_usage_the_most_possible_is_counted(server: Answering) -> None:
    server.body = answer()
    model = model_at(server)
    reply = await model.reply(REQUEST)
    await model.close()
    assert reply.usage == Usage(REQUEST.prompt_bytes, REQUEST.max_tokens)


async def test_what_is_asked(server: Answering) -> None:
    server.body = answer()
    model = model_at(server)
    schema = {"type": "object"}
    await model.reply(ModelRequest(REQUEST.messages, 9, 0.5, 2**62, stop=("\n",), json_schema=schema))
    await model.close()
    assert server.asked["max_tokens"] == 9
    assert server.asked["temperature"] == 0.5
    assert 0 <= server.asked["seed"] < 2**31
    assert server.asked["stop"] == ["\n"]
    assert server.asked["response_format"]["json_schema"]["schema"] == schema
