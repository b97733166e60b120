"""Pointers inside a write transaction: where they stand, moving them by compare-and-set, and the log of moves."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from evolve.core.errors import PointerMoved
from evolve.store.sqlite import insert_new
from evolve.store.tables import pointer_moves, pointers


@dataclass(frozen=True, slots=True)
class Move:
    """A move that somebody wants. With a `key` it happens once, however often it is asked for."""

    name: str
    which: str
    expected: int | None
    to: int
    reason: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class PointerMove:
    """A move that happened, from version `before` (None for the first) to version `after`."""

    number: int
    created_at: str
    name: str
    which: str
    before: int | None
    after: int
    reason: str
    key: str | None


def number_at(connection: Connection, name: str, which: str) -> int | None:
    """The version number a pointer stands at."""
    query = select(pointers.c.number).where(pointers.c.name == name, pointers.c.which == which)
    return connection.execute(query).scalar_one_or_none()


def move_in(connection: Connection, move: Move, now: str) -> None:
    """Moves and logs. PointerMoved when the pointer is not at `move.expected`."""
    if move.key is not None and _has_happened(connection, move):
        return
    if not _compare_and_set(connection, move, now):
        actual = number_at(connection, move.name, move.which)
        raise PointerMoved(f"{move.name}:{move.which}", _version_name(move.expected), _version_name(actual))
    row = {
        "created_at": now,
        "name": move.name,
        "which": move.which,
        "before": move.expected,
        "after": move.to,
        "reason": move.reason,
        "key": move.key,
    }
    connection.execute(pointer_moves.insert(), row)


def moves_of(connection: Connection, name: str) -> tuple[PointerMove, ...]:
    """The moves of all pointers of a name, oldest first."""
    query = select(pointer_moves).where(pointer_moves.c.name == name).order_by(pointer_moves.c.number)
    return tuple(PointerMove(**row) for row in connection.execute(query).mappings())


def _has_happened(connection: Connection, move: Move) -> bool:
    log = pointer_moves.c
    query = select(log.number).where(log.name == move.name, log.which == move.which, log.key == move.key)
    return connection.execute(query).first() is not None


def _compare_and_set(connection: Connection, move: Move, now: str) -> bool:
    if move.expected is None:
        row = {"name": move.name, "which": move.which, "created_at": now, "moved_at": now, "number": move.to}
        return connection.execute(insert_new(pointers), row).rowcount == 1
    here = (pointers.c.name == move.name, pointers.c.which == move.which, pointers.c.number == move.expected)
    return connection.execute(update(pointers).where(*here).values(number=move.to, moved_at=now)).rowcount == 1


def _version_name(number: int | None) -> str:
    return "no version" if number is None else f"version {number}"
