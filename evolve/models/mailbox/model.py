"""A model that is whoever answers the mailbox: a person, a coding agent, a batch job."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime

from evolve.core.errors import BudgetExceeded, WorldError
from evolve.core.messages import Capability, ModelReply, ModelRequest
from evolve.core.waiting import waiting
from evolve.models.mailbox.box import Box
from evolve.models.mailbox.documents import ReplyDocument, RequestDocument, read_reply, to_model_reply, write_request
from evolve.models.needs import refuse_unable

POLL_SECONDS = 0.2
HALF_WRITTEN_SECONDS = 2.0
"""A file that is not JSON and has not changed for so long is not being written any more."""
MOST_REJECTED = 3
ID_DIGITS = 24


def _utc_now() -> datetime:
    return datetime.now(UTC)


class MailboxModel:
    """Requests go into `box`, replies are waited for. Equal requests are one request, also after a resume.

    `most` caps the requests of a campaign, over all its sessions. Waiting is not the harness's time.
    """

    def __init__(
        self, name: str, box: Box, *, most: int, timeout_seconds: float, clock: Callable[[], datetime] = _utc_now
    ) -> None:
        self._name = name
        self._box = box
        self._most = most
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._prepared = False

    @property
    def identity(self) -> str:
        """`mailbox:NAME`: who answers is not known beforehand; the replies may say."""
        return f"mailbox:{self._name}"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Text that fits a schema, and tool calls; no raw completion, no probabilities."""
        return frozenset({Capability.JSON_SCHEMA, Capability.TOOLS})

    async def reply(self, request: ModelRequest) -> ModelReply:
        """The reply, once it is there.

        BudgetExceeded when the cap is reached, before anything is written; a WorldError that halts when nobody answers
        in time: the request stays, and a resume finds it and any reply given meanwhile.
        """
        refuse_unable(self, request)
        document = self._put(request)
        started = time.monotonic()
        with waiting():
            reply = await self._wait(document, started + self._timeout_seconds)
        return to_model_reply(reply, time.monotonic() - started)

    async def close(self) -> None:
        """Nothing to end."""

    def _put(self, request: ModelRequest) -> RequestDocument:
        if not self._prepared:
            self._box.prepare()
            self._prepared = True
        id = request.request_hash[:ID_DIGITS]
        if self._box.has(id):
            return self._box.request(id)
        if self._box.count() >= self._most:
            raise BudgetExceeded(f"mailbox_requests of {self.identity}", "1", "0")
        asked_at = self._clock().isoformat(timespec="seconds")
        document = write_request(request, id, self.identity, asked_at)
        self._box.put_request(document)
        return document

    async def _wait(self, document: RequestDocument, deadline: float) -> ReplyDocument:
        while True:
            data = self._box.reply_bytes(document.id)
            if data is not None:
                reply = self._read(document, data)
                if reply is not None:
                    return reply
            if time.monotonic() >= deadline:
                raise self._nobody()
            await asyncio.sleep(POLL_SECONDS)

    def _read(self, document: RequestDocument, data: bytes) -> ReplyDocument | None:
        """The reply, or None while it is half-written or after it was put aside."""
        try:
            return read_reply(data, document)
        except ValueError as error:
            if not self._box.settled(document.id, HALF_WRITTEN_SECONDS):
                return None
            number = self._box.reject(document.id, str(error))
            if number >= MOST_REJECTED:
                words = f"{self.identity}: {number} replies to request {document.id} could not be used: {error}"
                raise WorldError(words, passing=False) from None
            return None

    def _nobody(self) -> WorldError:
        waiting_for = len(self._box.open_requests())
        return WorldError(
            f"{self.identity}: nobody answered within {self._timeout_seconds:g} s; {waiting_for} requests are open in "
            f"{self._box.folder}\n  fix: answer them (its README.md says how), then resume: nothing is lost",
            halts=True,
        )
