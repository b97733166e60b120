"""Texts taken out of a home's tables for good. Rows, keys, usage and money stay, so that the books never change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from evolve.core.hashing import JSONValue
from evolve.store.database import Database
from evolve.store.packing import json_text, pack_json, unpack_json
from evolve.store.tables import (
    call_ends,
    calls,
    results,
)

_PAGE = 500
_CALLS = select(
    calls.c.id, calls.c.created_at, calls.c.campaign, calls.c.loop, calls.c.candidate, calls.c["case"],
    calls.c.repetition, calls.c.role, calls.c.request, call_ends.c.reply, call_ends.c.state, call_ends.c.note,
).select_from(calls.outerjoin(call_ends, calls.c.id == call_ends.c.id))  # fmt: skip


@dataclass(frozen=True, slots=True)
class KeptCall:
    """A call whose texts may be kept: who made it, and its packed bodies."""

    id: str
    created_at: str
    campaign: str
    loop: str
    candidate: str
    case: str
    repetition: int
    role: str
    bodies: tuple[bytes, ...]
    state: str
    note: str

    @property
    def size(self) -> int:
        """Bytes of its bodies."""
        return sum(map(len, self.bodies))

    def texts(self) -> Iterator[str]:
        """What is kept of it, as ASCII JSON; the note as it is."""
        yield from (json_text(unpack_json(body)) for body in self.bodies)
        yield self.note


class Eraser:
    """Reads and removes kept texts. Nothing else in the engine changes a row that it has written."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def call_owners(self) -> list[str]:
        """Every campaign, and every routed query, that has calls."""
        with self._database.read() as connection:
            return list(connection.execute(select(calls.c.campaign).distinct()).scalars())

    def calls(self, campaign: str | None = None, before: str = "~") -> Iterator[KeptCall]:
        """Calls that started before a time, page by page in the order of their starts."""
        last = ""
        while True:
            page = _CALLS.where(calls.c.id > last, calls.c.created_at < before).order_by(calls.c.id).limit(_PAGE)
            with self._database.read() as connection:
                rows = connection.execute(page if campaign is None else page.where(calls.c.campaign == campaign)).all()
            yield from map(_kept, rows)
            if len(rows) < _PAGE:
                return
            last = rows[-1].id

    def erase_calls(self, found: Sequence[KeptCall], marker: str, *, hashes: bool = False) -> None:
        """Removes the bodies of calls and what errors said, with the hashes of both where asked; notes say `marker`."""
        start: dict[str, Any] = {"request": None}
        end: dict[str, Any] = {"reply": None}
        if hashes:
            start |= {"request_hash": "", "key": calls.c.id}
            end |= {"reply_hash": ""}
        change = update(call_ends).where(call_ends.c.id == bindparam("call")).values(**end, note=bindparam("said"))
        with erasing(self._database) as connection:
            for some in in_chunks(found):
                connection.execute(update(calls).where(calls.c.id.in_([c.id for c in some])).values(**start))
                connection.execute(change, [{"call": c.id, "said": _marked(c, marker)} for c in some])

    def traces(self, before: str = "~") -> Iterator[tuple[str, Any]]:
        """Key and row of results stored before a time; the row's `trace` is packed, its `result` JSON text."""
        last = ""
        while True:
            page = select(results).where(results.c.key > last, results.c.created_at < before).order_by(results.c.key)
            with self._database.read() as connection:
                rows = connection.execute(page.limit(_PAGE)).all()
            yield from ((row.key, row) for row in rows)
            if len(rows) < _PAGE:
                return
            last = rows[-1].key

    def replace_traces(self, traces: Iterable[tuple[Any, JSONValue]]) -> None:
        """New trace documents for results, whose scores lose their reasons: a reason can quote the answer."""
        change = update(results).where(results.c.key == bindparam("at"))
        change = change.values(trace=bindparam("new"), result=bindparam("scored"))
        for some in in_chunks(traces):
            rows = [
                {"at": row.key, "new": pack_json(trace), "scored": json_text({**json.loads(row.result), "reason": ""})}
                for row, trace in some
            ]
            with erasing(self._database) as connection:
                connection.execute(change, rows)


@contextmanager
def erasing(database: Database) -> Iterator[Connection]:
    """A write transaction that overwrites what it deletes."""
    with database.write() as connection:
        connection.exec_driver_sql("PRAGMA secure_delete = ON")
        yield connection


def _kept(row: Any) -> KeptCall:
    bodies = tuple(bytes(body) for body in (row.request, row.reply) if body is not None)
    return KeptCall(
        id=row.id,
        created_at=row.created_at,
        campaign=row.campaign,
        loop=row.loop,
        candidate=row.candidate,
        case=row.case,
        repetition=row.repetition,
        role=row.role,
        bodies=bodies,
        state=row.state or "in_flight",
        note=row.note or "",
    )


def _marked(call: KeptCall, marker: str) -> str:
    """The note, which of a failed call quotes the provider: its error's name is all that stays."""
    note = call.note.partition(":")[0] if call.state == "failed" else call.note
    return "; ".join(filter(None, (note, marker)))


def in_chunks(items: Iterable[Any]) -> Iterator[list[Any]]:
    """Lists of at most a page."""
    chunk: list[Any] = []
    for item in items:
        chunk.append(item)
        if len(chunk) == _PAGE:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
