"""A real HTTP server that answers as told: whole bodies, streams in pieces, and every way of failing."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pydantic import BaseModel

BREAK = object()
"""In the pieces of a stream: the connection is lost here."""


@dataclass
class Reaction:
    """One answer. `body` is JSON, a text, or the pieces of a stream; `hang` waits so many seconds before answering."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hang: float = 0.0
    trickle: float = 0.0
    """seconds before each piece of a stream"""


class Answering(ThreadingHTTPServer):
    """Gives the next prepared reaction to each request, the last one for ever, and remembers what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.reactions: list[Reaction] = []
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.request_headers: list[dict[str, str]] = []
        self.lock = threading.Lock()
        self.over = threading.Event()

    @property
    def address(self) -> str:
        """Without a trailing slash."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def next_reaction(self) -> Reaction:
        with self.lock:
            return self.reactions.pop(0) if len(self.reactions) > 1 else self.reactions[0]


class _Handler(BaseHTTPRequestHandler):
    server: Answering

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.asked.append(body)
            self.server.paths.append(self.path)
            self.server.request_headers.append({k.lower(): v for k, v in self.headers.items()})
        reaction = self.server.next_reaction()
        if reaction.hang:
            self.server.over.wait(reaction.hang)
        if isinstance(reaction.body, list):
            self._stream(reaction)
        else:
            self._whole(reaction)

    def _whole(self, reaction: Reaction) -> None:
        text = isinstance(reaction.body, str)
        data = (reaction.body if text else json.dumps(plain(reaction.body))).encode()
        self.send_response(reaction.status)
        self.send_header("content-type", "text/html" if text else "application/json")
        self.send_header("content-length", str(len(data)))
        for name, value in reaction.headers.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):  # who asked may have given up
            self.wfile.write(data)

    def _stream(self, reaction: Reaction) -> None:
        self.send_response(reaction.status)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in reaction.body:
            if reaction.trickle and self.server.over.wait(reaction.trickle):
                return
            if piece is BREAK:
                self.close_connection = True
                self.connection.close()
                return
            data = piece.encode()
            with suppress(BrokenPipeError, ConnectionResetError):
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.wfile.flush()
        with suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *args: object) -> None:
        """Silent."""


def plain(value: Any) -> Any:
    """SDK types as the JSON that the provider would send."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True)
    return value


def events(items: Sequence[Any], *, named: bool, done: bool = False) -> list[Any]:
    """Server-sent events, one for each item: `named` as Anthropic and the responses form send them."""
    pieces: list[Any] = []
    for item in items:
        if item is BREAK:
            pieces.append(item)
            continue
        data = plain(item)
        head = f"event: {data['type']}\n" if named else ""
        pieces.append(f"{head}data: {json.dumps(data)}\n\n")
    return [*pieces, "data: [DONE]\n\n"] if done else pieces


@contextmanager
def serving() -> Iterator[Answering]:
    """A server for the length of the block."""
    with Answering() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join()
