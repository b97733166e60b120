"""A server in OpenAI's format: answers are built from the SDK's types, and what is sent to it is checked with them."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from openai.types.chat import ChatCompletion, ChatCompletionChunk, completion_create_params
from openai.types.completion_create_params import (
    CompletionCreateParamsNonStreaming as PlainParams,
)
from openai.types.responses import Response, ResponseStreamEvent, response_create_params
from pydantic import BaseModel, TypeAdapter, ValidationError

KEY = "sk-very-secret-1234567890"
CHAT, PLAIN, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"

_PARAMS: Mapping[str, Any] = {
    CHAT: completion_create_params.CompletionCreateParamsNonStreaming,
    PLAIN: PlainParams,
    RESPONSES: response_create_params.ResponseCreateParamsNonStreaming,
}
_TURNS = {CHAT: "messages", RESPONSES: "input"}


@dataclass(frozen=True)
class Reply:
    """One answer: a model of the SDK, a JSON value, or text as it is."""

    body: Any = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class Events:
    """A stream. `ending`: `whole`, `early` (it just ends), `cut` (the connection is lost), `hanging` or `trickling`."""

    events: Sequence[BaseModel | Mapping[str, Any] | str]
    ending: str = "whole"


class Dropped:
    """The connection is lost after the request was read."""


Answer = Reply | Events | Dropped
Script = Callable[[str, dict[str, Any]], Answer]
"""The answer to a path and a body."""


class OpenAIServer(ThreadingHTTPServer):
    """`asked` holds (path, body, headers) of every request; `complaints` what was wrong with them."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.forget()

    def forget(self) -> None:
        """As new."""
        self.asked: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.complaints: list[str] = []
        self.script: Script = lambda path, body: Reply(status=500)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def body(self) -> dict[str, Any]:
        """The last one that was asked with."""
        return self.asked[-1][1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Silent about clients that left; everything else must be seen."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def answers(self, *answers: Answer) -> None:
        """Gives these answers in turn, and the last one again and again."""
        left = list(answers)
        self.script = lambda path, body: left.pop(0) if len(left) > 1 else left[0]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: OpenAIServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        wrong = complain(self.path, body, headers)
        self.server.asked.append((self.path, body, headers))
        self.server.complaints += wrong
        if wrong:
            self._send(Reply({"error": {"message": "; ".join(wrong), "type": "invalid_request_error"}}, 400))
            return
        answer = self.server.script(self.path, body)
        if isinstance(answer, Reply):
            self._send(answer)
        elif isinstance(answer, Events):
            self._stream(answer)
        else:
            self.close_connection = True

    def _send(self, reply: Reply) -> None:
        time.sleep(reply.seconds)
        text = reply.body if isinstance(reply.body, str) else dump(reply.body)
        data = text.encode()
        self.send_response(reply.status)
        self.send_header("content-type", "text/html" if isinstance(reply.body, str) else "application/json")
        self.send_header("content-length", str(len(data)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, stream: Events) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in stream.events:
            data = event if isinstance(event, str) else dump(event)
            name = f"event: {json.loads(data)['type']}\n" if self.path == RESPONSES else ""
            self._write(f"{name}data: {data}\n\n")
        for _ in range(40 if stream.ending == "trickling" else 0):
            self._write(": still here\n\n")
            time.sleep(0.05)
        if stream.ending == "hanging":
            time.sleep(2)
        if stream.ending == "whole" and self.path != RESPONSES:
            self._write("data: [DONE]\n\n")
        if stream.ending in ("whole", "early"):
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def _write(self, text: str) -> None:
        """In two pieces, so that no reader can take a piece of the wire for an event."""
        data = text.encode()
        for part in (data[: len(data) // 2], data[len(data) // 2 :]):
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            self.wfile.flush()

    def log_message(self, *args: object) -> None:
        """Silent."""


def dump(value: Any) -> str:
    """JSON of a model as it would be sent, or of plain data."""
    return (
        value.model_dump_json(by_alias=True, exclude_unset=True) if isinstance(value, BaseModel) else json.dumps(value)
    )


@cache
def _adapter(path: str) -> TypeAdapter[Any]:
    return TypeAdapter(_PARAMS[path])


def complain(path: str, body: dict[str, Any], headers: Mapping[str, str]) -> list[str]:
    """What the provider's format has against a request."""
    wrong = [] if headers.get("authorization") == f"Bearer {KEY}" else ["another key"]
    if path not in _PARAMS:
        return [*wrong, f"no path {path}"]
    known = _PARAMS[path].__annotations__.keys() | {"stream", "stream_options"}
    wrong += [f"unknown: {name}" for name in body.keys() - known]
    try:
        checked = _adapter(path).validate_python({k: v for k, v in body.items() if k != "stream"})
        turns = list(checked.get(_TURNS.get(path, ""), ()))
        wrong += [] if turns or path == PLAIN else ["no turns"]
        list(checked.get("tools", ()))
    except ValidationError as error:
        wrong.append(str(error)[:500])
    if path == RESPONSES:
        wrong += [] if body.get("store") is False else ["stored"]
    elif body.get("stream") and not body.get("stream_options", {}).get("include_usage"):
        wrong.append("a stream without usage")
    return wrong + _complain_of_calls(path, body)


def _complain_of_calls(path: str, body: dict[str, Any]) -> list[str]:
    """Results of calls must follow the calls."""
    seen: set[str] = set()
    wrong = []
    for turn in body.get(_TURNS.get(path, ""), ()):
        seen |= {call["id"] for call in turn.get("tool_calls") or ()}
        if turn.get("type") == "function_call":
            seen.add(turn["call_id"])
        answered = turn.get("tool_call_id") if turn.get("role") == "tool" else None
        answered = turn["call_id"] if turn.get("type") == "function_call_output" else answered
        if answered is not None and answered not in seen:
            wrong.append(f"a result of no call: {answered}")
    return wrong


CHAT_USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 70, "cache_write_tokens": 10},
    "completion_tokens_details": {"reasoning_tokens": 12},
}
RESPONSE_USAGE = {
    "input_tokens": 100,
    "output_tokens": 20,
    "total_tokens": 120,
    "input_tokens_details": {"cached_tokens": 70, "cache_write_tokens": 10},
    "output_tokens_details": {"reasoning_tokens": 12},
}


def completion(finish: str = "stop", usage: Any = CHAT_USAGE, **message: Any) -> ChatCompletion:
    """A whole chat completion. `message` is content, refusal, tool_calls as (id, name, arguments)."""
    calls = message.pop("calls", ())
    if calls:
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id, name, arguments in calls
        ]
    choice = {"index": 0, "finish_reason": finish, "logprobs": None}
    choice["message"] = {"role": "assistant", "content": None, "refusal": None} | message
    head = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    return ChatCompletion.model_validate({**head, "choices": [choice]} | ({"usage": usage} if usage else {}))


def chunks(*deltas: Mapping[str, Any], finish: str | None = "stop", usage: Any = CHAT_USAGE) -> list[BaseModel]:
    """A streamed chat completion: one chunk for each delta, one with the finish reason, one with the usage."""
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    choices = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    bodies: list[dict[str, Any]] = [{**head, "choices": choice, "usage": None} for choice in choices]
    if finish is not None:
        bodies.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        bodies.append({**head, "choices": [], "usage": usage})
    return [ChatCompletionChunk.model_validate(body) for body in bodies]


def message_item(*parts: tuple[str, str]) -> dict[str, Any]:
    """An output item of (`output_text` or `refusal`, text) parts."""
    content = [
        {"type": kind, "text": text, "annotations": []} if kind == "output_text" else {"type": kind, kind: text}
        for kind, text in parts
    ]
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content}


def call_item(id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": name, "arguments": arguments}


def response(*output: dict[str, Any], status: str = "completed", **more: Any) -> Response:
    """A whole response."""
    head = {"id": "r", "object": "response", "created_at": 1.0, "model": "m", "parallel_tool_calls": True}
    fixed = {"tool_choice": "auto", "tools": [], "error": None, "incomplete_details": None, "usage": RESPONSE_USAGE}
    return Response.model_validate({**head, **fixed, "output": list(output), "status": status, **more})


def event(number: int, kind: str, **fields: Any) -> BaseModel:
    """One stream event of the Responses API."""
    adapter: TypeAdapter[Any] = _event_adapter()
    built: BaseModel = adapter.validate_python({"type": kind, "sequence_number": number, **fields})
    return built


@cache
def _event_adapter() -> TypeAdapter[Any]:
    return TypeAdapter(ResponseStreamEvent)


def response_events(whole: Response, *pieces: str, kind: str = "output_text") -> list[BaseModel]:
    """A streamed response: created, reasoning that nobody must hear, text in `pieces`, and the end."""
    began = whole.model_copy(update={"status": "in_progress", "output": [], "usage": None}).model_dump(
        exclude_unset=True
    )
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    more = {"logprobs": []} if kind == "output_text" else {}
    thought = {**place, "item_id": "rs_1", "delta": "hm"}
    return [
        event(0, "response.created", response=began),
        event(1, "response.reasoning_text.delta", **thought),
        *(event(n, f"response.{kind}.delta", delta=piece, **place, **more) for n, piece in enumerate(pieces, start=2)),
        event(99, f"response.{whole.status}", response=whole.model_dump(exclude_unset=True)),
    ]


@contextmanager
def serving() -> Iterator[OpenAIServer]:
    """A server, answering from a thread of its own for the length of the block."""
    with OpenAIServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
