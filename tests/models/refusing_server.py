"""A chat server in OpenAI's format that answers by a script, refuses as it is told, and remembers who asked what."""

from __future__ import annotations

import hashlib
import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Refusal:
    """An answer that is none."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)


Script = Callable[[str, random.Random], str]
"""The text for a prompt; the generator depends on the request body alone."""
Refuse = Callable[[int, str], Refusal | None]
"""Told the number of the request, from 0, and its prompt."""


def welcome(_number: int, _prompt: str) -> None:
    """Refuses nothing."""


class RefusingServer(ThreadingHTTPServer):
    """`asked` and `answered` count request bodies, `refused` statuses."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self._lock = threading.Lock()
        self.begin(welcome)

    def begin(self, refuse: Refuse) -> None:
        """Forgets everything and refuses as told from now on."""
        self.refuse = refuse
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.refused: Counter[int] = Counter()
        self._numbers = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def judge(self, body: str, prompt: str) -> Refusal | None:
        with self._lock:
            number, self._numbers = self._numbers, self._numbers + 1
            self.asked[body] += 1
            refusal = self.refuse(number, prompt)
            if refusal is None:
                self.answered[body] += 1
            else:
                self.refused[refusal.status] += 1
            return refusal


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: RefusingServer

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps(asked, sort_keys=True)
        prompt = "\n".join(message["content"] for message in asked["messages"])
        refusal = self.server.judge(body, prompt)
        if refusal is None:
            rng = random.Random(hashlib.sha256(body.encode()).digest())
            self._send(200, _answer(self.server.script(prompt, rng), prompt))
        else:
            error = {"message": f"refused with {refusal.status}", "type": "refused", "code": None}
            self._send(refusal.status, {"error": error}, refusal.headers)

    def _send(self, status: int, document: Any, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Silent."""


def _answer(text: str, prompt: str) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": len(prompt) // 4 + 1, "completion_tokens": len(text) // 4 + 1, "total_tokens": 0}
    usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
    head = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    return {**head, "choices": [choice], "usage": usage}


@contextmanager
def serving(server: RefusingServer) -> Iterator[RefusingServer]:
    """The server, answering from a thread of its own for the length of the block."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
