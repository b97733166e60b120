"""The mailbox provider: writes a request, waits for its reply."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from evolve.books.occurrences import Occurrences
from evolve.core.errors import BudgetExceeded, UserError, WorldError
from evolve.core.messages import Capability, ModelReply, ModelRequest
from evolve.core.waiting import waiting
from evolve.models.mailbox.box import Box, Delivery
from evolve.models.mailbox.documents import RequestDocument, request_document
from evolve.models.mailbox.files import disk
from evolve.models.mailbox.judge import Unfinished, Unfit, check_asked_schema, read_reply

_DIGITS = 12
_GROWTH = 1.5


@dataclass(frozen=True, slots=True)
class MailboxLimits:
    """`timeout_seconds` is for one reply; `requests` is the most that this folder may ever hold.

    A reply that is no whole JSON is given `settle_seconds` without a change before it is rejected; so many `rejections`
    end the wait. The folder is looked at every `poll_seconds` at the longest, more often at first.
    """

    timeout_seconds: float = 3600.0
    requests: int = 200
    rejections: int = 3
    settle_seconds: float = 2.0
    poll_seconds: float = 1.0


def _wall_clock() -> datetime:
    return datetime.now(UTC)


class MailboxModel:
    """Whoever answers the files of one folder. It chats, keeps to JSON schemas and calls tools.

    It gives no label probabilities and completes no plain text: nobody who answers by hand can. A request has the name
    of its hash and of its call in the books, so a resumed campaign finds the request and any reply given meanwhile.
    """

    def __init__(self, box: Box, limits: MailboxLimits, *, clock: Callable[[], datetime] = _wall_clock) -> None:
        self._box = box
        self._limits = limits
        self._clock = clock
        self._occurrences = Occurrences()

    @property
    def identity(self) -> str:
        """`mailbox:NAME`."""
        return f"mailbox:{self._box.name}"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Schemas and tools."""
        return frozenset({Capability.JSON_SCHEMA, Capability.TOOLS})

    async def reply(self, request: ModelRequest) -> ModelReply:
        """The answer that is given to the request file. The time until then is a wait, not the harness's own.

        Raises BudgetExceeded before a request beyond the cap is written; a WorldError that halts when no answer comes
        in time or several do not fit; UserError for labels, plain completion or a broken schema.
        """
        self._require_able(request)
        with self._name(request) as id:
            started = time.monotonic()
            asked = request_document(id, self._box.name, request, self._clock())
            self._post(asked)
            with waiting():
                reply = await self._wait(asked)
            return replace(reply, seconds=time.monotonic() - started)

    async def close(self) -> None:
        """Nothing is open; requests stay for whoever answers them."""

    def _require_able(self, request: ModelRequest) -> None:
        if request.labels or request.style == "plain":
            what = "give probabilities of labels" if request.labels else "complete plain text"
            raise UserError(
                f"a mailbox cannot {what}",
                place=self.identity,
                fix="use another model for this step, or another operator",
            )
        if request.json_schema is not None:
            check_asked_schema(request.json_schema, f"{self.identity}, json_schema")

    @contextmanager
    def _name(self, request: ModelRequest) -> Iterator[str]:
        """The request's hash and what tells equal requests apart: the books' key of the call, else a running number."""
        request_hash = request.request_hash
        if request.call:
            yield f"{request_hash[:_DIGITS]}-{request.call[:_DIGITS]}"
            return
        with self._occurrences.take("", request_hash) as number:
            yield f"{request_hash[:_DIGITS]}-{number}"

    def _post(self, asked: RequestDocument) -> None:
        """Writes the request unless it lies there; counting and writing are one step, for nothing here awaits."""
        if self._box.request_path(asked.id).exists():
            return
        made, most = len(self._box.ids()), self._limits.requests
        if made >= most:
            raise BudgetExceeded(f"mailbox_requests ({most}) of {self.identity}", "1 request", f"{max(0, most - made)}")
        self._box.prepare()
        self._box.post(asked)

    async def _wait(self, asked: RequestDocument) -> ModelReply:
        limits, rejected, pause = self._limits, 0, 0.05
        deadline = time.monotonic() + limits.timeout_seconds
        settling = _Settling(limits.settle_seconds)
        while True:
            with disk(self._box.folder):
                found = self._box.delivered(asked.id)
            if found is not None:
                try:
                    reply = settling.judge(found, asked)
                except Unfit as reason:
                    rejected += 1
                    self._reject(asked, str(reason), rejected)
                    continue
                if reply is not None:
                    self._box.accept(asked.id)
                    return reply
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._late()
            await asyncio.sleep(min(pause, left))
            pause = min(pause * _GROWTH, limits.poll_seconds)

    def _reject(self, asked: RequestDocument, reason: str, number: int) -> None:
        why = self._box.reject(asked.id, reason)
        if number >= self._limits.rejections:
            raise WorldError(
                f"{self.identity}: {number} replies to {asked.id} were rejected, the last one because {reason}\n"
                f"  fix: see {why}; answer {self._box.request_path(asked.id)} anew, then go on with --resume",
                halts=True,
            )

    def _late(self) -> WorldError:
        count = len(self._box.open_ids())
        return WorldError(
            f"{self.identity}: no answer within {self._limits.timeout_seconds:,g} s; {count} open "
            f"request{'s' if count != 1 else ''} in {self._box.folder / 'requests'}\n"
            "  fix: answer them (`evolve mailbox list`), then go on with --resume: answers given meanwhile are found, "
            "and nothing is asked twice",
            halts=True,
        )


class _Settling:
    """Reads a reply, and gives one that is no whole JSON time to be finished."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._mark: tuple[int, int, int] | None = None
        self._since = 0.0

    def judge(self, found: Delivery, asked: RequestDocument) -> ModelReply | None:
        """The reply, or None while it may still be being written. Raises Unfit."""
        if found.odd:
            raise Unfit(found.odd)
        try:
            return read_reply(found.data, asked)
        except Unfinished:
            now = time.monotonic()
            if found.mark != self._mark:
                self._mark, self._since = found.mark, now
            if now - self._since >= self._seconds:
                raise
            return None
