"""Custom: a function `score(output, expected) -> float | Score` of the user's file, run in child processes."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import queue
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

import evolve
from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue, sha256_hex
from evolve.core.scores import Asked, Score
from evolve.evaluate.scorers.base import Options, ScorerFault, scorer_identity
from evolve.evaluate.scorers.pipe import ChildPipe

CHILD = Path(__file__).with_name("child.py")


class CustomOptions(Options):
    """`path` is relative to the campaign file. A call, or loading the file, over its seconds kills the child.

    The identity holds the source of this file and of `files` (what it imports or reads beside it): a change of any of
    them makes stored results stale. `workers` children score at the same time.
    """

    kind: Literal["custom"] = "custom"
    path: str = Field(min_length=1)
    function: str = "score"
    files: tuple[str, ...] = ()
    timeout_seconds: float = Field(default=10.0, gt=0.0, le=3600.0)
    load_seconds: float = Field(default=60.0, gt=0.0, le=3600.0)
    workers: int = Field(default=1, ge=1, le=64)
    most_reply_bytes: int = Field(default=65_536, ge=1_024)


class CustomScorer:
    """Prints go to standard error; sys.exit, os._exit, a crash or a late answer cost the case they happened on."""

    def __init__(self, options: CustomOptions, root: Path) -> None:
        """UserError when a file is absent or the scorer is not valid Python; nothing of it is run yet."""
        path = root / options.path
        source = _read(path, "scorer.path")
        try:
            compile(source, str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None) or 1
            raise UserError(f"not valid Python: {error}", place=f"{path}:{line}", fix="correct the scorer") from error
        sources = [sha256_hex(source), *(sha256_hex(_read(root / name, "scorer.files")) for name in options.files)]
        self.identity = scorer_identity(_what_counts(options), sys.modules[__name__], ",".join(sources))
        self._options = options
        self._numbers = itertools.count(1)
        self._threads = ThreadPoolExecutor(options.workers, thread_name_prefix="scorer")
        self._children = [self._child(path) for _ in range(options.workers)]
        self._closed = False
        self._idle: queue.SimpleQueue[ChildPipe] = queue.SimpleQueue()
        for child in self._children:
            self._idle.put(child)

    def _child(self, path: Path) -> ChildPipe:
        engine = Path(evolve.__file__).parent.parent
        script = [str(CHILD), str(path.resolve()), self._options.function, str(engine), str(os.getpid())]
        return ChildPipe(
            [sys.executable, "-P", "-X", "utf8", *script], path.resolve().parent, self._options.most_reply_bytes
        )

    async def score(self, output: JSONValue, expected: JSONValue, asked: Asked | None = None) -> Score:
        """ScorerFault when the function raised, was late or its process ended; the next case finds a fresh child."""
        request = {"id": next(self._numbers), "output": output, "expected": expected}
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._score, request)

    def _score(self, request: Mapping[str, Any]) -> Score:
        child = self._idle.get()
        try:
            if self._closed:
                raise ScorerFault("the scorer was closed")
            if not child.alive:
                _checked(child.start(self._options.load_seconds))
            line = json.dumps(request).encode("ascii") + b"\n"
            reply = _checked(child.ask(line, self._options.timeout_seconds))
            if reply.get("id") != request["id"]:
                child.kill()
                raise ScorerFault("the scorer process answered out of turn (did it fork?)")
            return _score_of(reply)
        finally:
            self._idle.put(child)

    async def close(self) -> None:
        """Kills the children; a score still under way ends as a ScorerFault."""
        self._closed = True
        for child in self._children:
            child.signal()
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)
        for child in self._children:
            child.kill()


def _what_counts(options: CustomOptions) -> CustomOptions:
    """Where the file lies, and what only costs time, do not decide a score: they are left out of the identity."""
    fields = CustomOptions.model_fields
    return options.model_copy(
        update={
            "path": Path(options.path).name,
            **{name: fields[name].default for name in ("load_seconds", "workers", "most_reply_bytes")},
        }
    )


def _read(path: Path, key: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot read {path}: {reason}", place=key, fix="name a file beside the campaign") from error


def _checked(line: bytes) -> dict[str, Any]:
    try:
        reply = json.loads(line)
    except ValueError as error:
        raise ScorerFault(f"the scorer process answered with something else: {line[:80]!r}") from error
    if not isinstance(reply, dict):
        raise ScorerFault(f"the scorer process answered with something else: {line[:80]!r}")
    if "fault" in reply:
        raise ScorerFault(str(reply["fault"]), details=str(reply.get("details", "")))
    return reply


def _score_of(reply: Mapping[str, Any]) -> Score:
    if "ungraded" in reply:
        return Score.ungraded(str(reply["ungraded"]) or "the scorer could not tell")
    if "odd" in reply:
        return Score.ungraded(f"the scorer returned {reply['odd']}, not a number in [0, 1]")
    return Score.from_raw(reply.get("value"), str(reply.get("reason", "")))
