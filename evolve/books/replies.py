"""Replies that were paid for: found by call key, so that nothing finished is paid again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from evolve.books.documents import LOST, REDACTED, read_reply
from evolve.core.messages import ModelReply
from evolve.core.traces import Spend
from evolve.store import CallEnd, CallRow, JournalStore


class Replies:
    """The finished calls of one campaign, and whose turn it is for those under way."""

    def __init__(self, journal: JournalStore) -> None:
        self._journal = journal
        self._ends: dict[str, CallRow] = {}
        self._ids: dict[str, str] = {}
        self._lost: dict[str, Spend] = {}
        self.redacted = 0
        """How many replies are kept without the secrets in them. They are not what the model said: never replayed."""
        self._busy: dict[str, asyncio.Event] = {}

    def read(self, row: CallRow) -> None:
        """Takes note of a call of an earlier run."""
        if row.state == "finished" and row.has_reply:
            self._remember(row.key, row.id, row.note)
        elif row.state in ("failed", "abandoned"):
            self._ends[row.key] = row
        if row.state == "abandoned" and row.note == LOST:
            self.lose(row.key, row.spend)

    def took(self, key: str, end: CallEnd) -> None:
        """From now on a kept reply answers for `key`; the first one stays."""
        if end.reply is not None:
            self._remember(key, end.id, end.note)

    def _remember(self, key: str, id: str, note: str) -> None:
        if REDACTED in note:
            self.redacted += 1
        else:
            self._ids.setdefault(key, id)

    def find(self, key: str) -> tuple[ModelReply, Spend] | None:
        """The reply and what it cost when it was paid."""
        id = self._ids.get(key)
        row = self._journal.get(id) if id is not None else None
        return (read_reply(self._journal.reply(row.id)), row.spend) if row is not None else None

    def lose(self, key: str, spend: Spend) -> None:
        """Takes note of an attempt for `key` that was charged although no answer came."""
        self._lost[key] = self.lost(key) + spend

    def lost(self, key: str) -> Spend:
        """What such attempts have cost so far."""
        return self._lost.get(key, Spend())

    def failure(self, key: str) -> CallRow | None:
        """How the last attempt of an earlier run ended that got no reply for `key`."""
        return self._ends.get(key)

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """One asker of a key at a time: the second one finds what the first one paid for."""
        while (other := self._busy.get(key)) is not None:
            await other.wait()
        done = self._busy[key] = asyncio.Event()
        try:
            yield
        finally:
            del self._busy[key]
            done.set()
