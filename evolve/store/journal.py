"""The journal's rows: a call is written once when it starts and once when it ends, and nothing is ever changed."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Literal

from sqlalchemy import Select, or_, select

from evolve.core.hashing import JSONValue
from evolve.core.messages import Usage
from evolve.core.traces import Spend
from evolve.store.calls import CallEnd, CallRow, CallStart
from evolve.store.database import Database
from evolve.store.packing import unpack_json
from evolve.store.sqlite import insert_new
from evolve.store.tables import call_ends, calls

_PAGE = 2000
_MEASURED = 1000


class JournalStore:
    """Reads and writes call rows; writes share their commits."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._insert_start = calls.insert()
        self._insert_end = call_ends.insert()
        self._counter = itertools.count()
        self._origin = secrets.token_hex(7)

    def new_id(self) -> str:
        """32 hex digits, unique, and later ids sort after earlier ones."""
        milliseconds = int(self._database.clock().timestamp() * 1000)
        return f"{milliseconds:012x}{next(self._counter) & 0xFFFFFF:06x}{self._origin}"

    def start(self, call: CallStart) -> asyncio.Future[None]:
        """Writes a start; the future resolves when it is durable."""
        return self._database.group.write(self._insert_start, self._start_columns(call))

    def end(self, call: CallEnd) -> asyncio.Future[None]:
        """Writes an end; the future resolves when it is durable."""
        return self._database.group.write(self._insert_end, self._end_columns(call))

    def post_end(self, call: CallEnd) -> None:
        """Writes an end that nobody waits for. Should it be lost, the call counts at its reservation."""
        self._database.group.post(self._insert_end, self._end_columns(call))

    def bury(self, campaign: str, note: str) -> None:
        """Ends the calls in flight of a campaign whose process is dead, at what they had reserved."""
        lost = [row for row in self.iter(campaign) if row.state == "in_flight"]
        ends = [CallEnd(row.id, "abandoned", row.reserved_usage, row.reserved_usd, note=note) for row in lost]
        if ends:
            with self._database.write() as connection:
                connection.execute(insert_new(call_ends), [self._end_columns(end) for end in ends])

    def iter(self, campaign: str) -> Iterator[CallRow]:
        """Every call of a campaign in the order of their starts, read page by page so that no writer waits.

        What this process has written is there, also what nobody waited for.
        """
        self._database.group.flush()
        last = ""
        while True:
            page = _ROWS.where(calls.c.campaign == campaign, calls.c.id > last).order_by(calls.c.id).limit(_PAGE)
            with self._database.read() as connection:
                rows = connection.execute(page).all()
            yield from map(_call, rows)
            if len(rows) < _PAGE:
                return
            last = rows[-1].id

    def replies(self, campaign: str) -> Iterator[tuple[CallRow, JSONValue]]:
        """Every finished call of a campaign whose reply was kept, with it, page by page."""
        last = ""
        while True:
            page = (
                _ROWS.add_columns(call_ends.c.reply)
                .where(calls.c.campaign == campaign, calls.c.id > last, call_ends.c.reply.is_not(None))
                .order_by(calls.c.id)
                .limit(_PAGE)
            )
            with self._database.read() as connection:
                rows = connection.execute(page).all()
            for row in rows:
                yield _call(row[:-1]), unpack_json(row[-1])
            if len(rows) < _PAGE:
                return
            last = rows[-1].id

    def owners(self) -> tuple[str, ...]:
        """Every campaign, or asker of a query, that has calls here, sorted."""
        with self._database.read() as connection:
            return tuple(connection.execute(select(calls.c.campaign).distinct().order_by(calls.c.campaign)).scalars())

    def get(self, id: str) -> CallRow | None:
        """One call."""
        with self._database.read() as connection:
            row = connection.execute(_ROWS.where(calls.c.id == id)).one_or_none()
        return _call(row) if row is not None else None

    def spend_by(self, campaign: str, part: Literal["loop", "role", "candidate"]) -> dict[str, Spend]:
        """What a campaign has cost so far by one part of its owners, in the order of their first calls."""
        totals: dict[str, Spend] = {}
        for row in self.iter(campaign):
            name: str = getattr(row, part)
            totals[name] = totals.get(name, Spend()) + row.spend
        return totals

    def mean_seconds(self, model: str) -> float | None:
        """Mean seconds of the last 1,000 finished calls to a model, `@weights` or not; None before the first."""
        named = or_(calls.c.model == model, calls.c.model.startswith(f"{model}@", autoescape=True))
        last = (
            select(call_ends.c.seconds)
            .join(calls, calls.c.id == call_ends.c.id)
            .where(named, call_ends.c.state == "finished")
            .order_by(call_ends.c.id.desc())
            .limit(_MEASURED)
        )
        with self._database.read() as connection:
            seconds = connection.execute(last).scalars().all()
        return sum(seconds) / len(seconds) if seconds else None

    def request(self, id: str) -> JSONValue:
        """The request of a call; None where it was not kept."""
        return self._body(select(calls.c.request).where(calls.c.id == id))

    def reply(self, id: str) -> JSONValue:
        """The reply of a call; None where it was not kept or never came."""
        return self._body(select(call_ends.c.reply).where(call_ends.c.id == id))

    def _body(self, query: Select[Any]) -> JSONValue:
        with self._database.read() as connection:
            data = connection.execute(query).scalar_one_or_none()
        return unpack_json(data) if data is not None else None

    def _start_columns(self, call: CallStart) -> dict[str, Any]:
        row = {name: getattr(call, name) for name in CallStart.__slots__}
        row["created_at"] = self._database.now()
        row["reserved_usd"] = _money_text(call.reserved_usd)
        return row

    def _end_columns(self, call: CallEnd) -> dict[str, Any]:
        return {
            "id": call.id,
            "created_at": self._database.now(),
            "state": call.state,
            "reply": call.reply,
            "reply_hash": call.reply_hash,
            "usd": _money_text(call.usd),
            "prompt_tokens": call.usage.prompt_tokens,
            "completion_tokens": call.usage.completion_tokens,
            "cached_tokens": call.usage.cached_tokens,
            "cache_write_tokens": call.usage.cache_write_tokens,
            "cache_write_1h_tokens": call.usage.cache_write_1h_tokens,
            "seconds": call.seconds,
            "note": call.note,
        }


_SAME = CallRow.__slots__[:12]
"""The leading fields of a CallRow are columns of the same name; `_call` reads the others by position."""

_ROWS: Select[Any] = select(
    *(calls.c[name] for name in _SAME),
    calls.c.reserved_usd,
    calls.c.reserved_prompt_tokens,
    calls.c.reserved_completion_tokens,
    call_ends.c.state,
    call_ends.c.created_at,
    *(call_ends.c[name] for name in Usage.__slots__),
    call_ends.c.usd,
    call_ends.c.seconds,
    call_ends.c.note,
    call_ends.c.reply.is_not(None),
).select_from(calls.outerjoin(call_ends, calls.c.id == call_ends.c.id))


def _call(row: Sequence[Any]) -> CallRow:
    reserved_usd, reserved_prompt, reserved_completion, state, ended_at = row[12:17]
    usd, seconds, note, has_reply = row[22:]
    return CallRow(
        **dict(zip(_SAME, row, strict=False)),
        reserved_usd=_money(reserved_usd),
        reserved_usage=Usage(reserved_prompt, reserved_completion),
        state=state or "in_flight",
        ended_at=ended_at,
        usage=Usage(*row[17:22]) if state else Usage(),
        usd=_money(usd),
        seconds=seconds or 0.0,
        note=note or "",
        has_reply=bool(has_reply),
    )


def _money_text(usd: Decimal | None) -> str | None:
    return str(usd) if usd is not None else None


def _money(text: str | None) -> Decimal | None:
    return Decimal(text) if text is not None else None
