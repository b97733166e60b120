"""Versions: immutable, numbered per name, each with its evidence; and the pointers that say which one counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, func, select

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue, content_hash
from evolve.store.database import Database
from evolve.store.packing import json_text
from evolve.store.pointers import Move, PointerMove, move_in, moves_of, number_at
from evolve.store.tables import versions


@dataclass(frozen=True)
class NewVersion:
    """What is to be committed. `key` names the act: committing it again finds the version that is there."""

    name: str
    content: Mapping[str, JSONValue]
    evidence: Mapping[str, JSONValue]
    parent: int | None
    reason: str
    key: str
    content_hash: str = ""
    """What identifies the content; the hash of all of it when not given."""


@dataclass(frozen=True)
class VersionRow:
    """One committed version. `content_hash` is over the content alone: no clock, no evidence."""

    name: str
    number: int
    created_at: str
    parent: int | None
    content_hash: str
    content: Mapping[str, JSONValue]
    evidence: Mapping[str, JSONValue]
    reason: str
    key: str


class VersionStore:
    """Commits versions and moves pointers by compare-and-set."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def commit(
        self,
        name: str,
        content: Mapping[str, JSONValue],
        evidence: Mapping[str, JSONValue],
        *,
        parent: int | None,
        reason: str,
        key: str,
    ) -> VersionRow:
        """The new version, or the one that this key committed before. UserError when the parent does not exist."""
        with self._database.write() as connection:
            return self._commit_in(connection, NewVersion(name, content, evidence, parent, reason, key))

    def commit_and_move(self, new: NewVersion, *, which: str = "live", expected: int | None) -> VersionRow:
        """Commits and moves the pointer in one transaction: after a crash there is both or neither.

        Raises PointerMoved, and commits nothing, when the pointer is not at `expected`. A repeated key moves nothing.
        """
        with self._database.write() as connection:
            row = self._commit_in(connection, new)
            move = Move(new.name, which, expected, row.number, new.reason, new.key)
            move_in(connection, move, self._database.now())
            return row

    def get(self, name: str, number: int) -> VersionRow:
        """One version. UserError, naming what exists, when there is none."""
        with self._database.read() as connection:
            return _get_in(connection, name, number)

    def list(self, name: str) -> list[VersionRow]:
        """All versions of a name, oldest first."""
        query = select(versions).where(versions.c.name == name).order_by(versions.c.number)
        with self._database.read() as connection:
            return [_version(row) for row in connection.execute(query).mappings()]

    def names(self) -> tuple[str, ...]:
        """Every name that has a version, sorted."""
        with self._database.read() as connection:
            return tuple(connection.execute(select(versions.c.name).distinct().order_by(versions.c.name)).scalars())

    def pointer(self, name: str, which: str = "live") -> int | None:
        """The version number a pointer stands at."""
        with self._database.read() as connection:
            return number_at(connection, name, which)

    def move_pointer(self, name: str, which: str, *, expected: int | None, to: int, reason: str) -> None:
        """Compare-and-set: PointerMoved when it is not at `expected`, UserError when `to` does not exist."""
        with self._database.write() as connection:
            _get_in(connection, name, to)
            move_in(connection, Move(name, which, expected, to, reason), self._database.now())

    def pointer_log(self, name: str) -> tuple[PointerMove, ...]:
        """Every move of every pointer of a name, oldest first."""
        with self._database.read() as connection:
            return moves_of(connection, name)

    def _commit_in(self, connection: Connection, new: NewVersion) -> VersionRow:
        query = select(versions).where(versions.c.name == new.name, versions.c.key == new.key)
        found = connection.execute(query).mappings().one_or_none()
        if found is not None:
            return _version(found)
        if new.parent is not None:
            _get_in(connection, new.name, new.parent)
        last = connection.execute(select(func.max(versions.c.number)).where(versions.c.name == new.name)).scalar_one()
        row: dict[str, Any] = {
            "name": new.name,
            "number": (last or 0) + 1,
            "created_at": self._database.now(),
            "parent": new.parent,
            "content_hash": new.content_hash or content_hash(dict(new.content)),
            "content": json_text(dict(new.content)),
            "evidence": json_text(dict(new.evidence)),
            "reason": new.reason,
            "key": new.key,
        }
        connection.execute(versions.insert(), row)
        return _version(row)


def _version(row: RowMapping | Mapping[str, Any]) -> VersionRow:
    return VersionRow(**{**row, "content": json.loads(row["content"]), "evidence": json.loads(row["evidence"])})


def _get_in(connection: Connection, name: str, number: int) -> VersionRow:
    query = select(versions).where(versions.c.name == name, versions.c.number == number)
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        numbers = connection.execute(select(versions.c.number).where(versions.c.name == name)).scalars().all()
        have = (
            f"it has versions {min(numbers)} to {max(numbers)}" if numbers else "nothing was committed under this name"
        )
        raise UserError(f"version {number} does not exist; {have}", place=name, fix="see `evolve portfolio log`")
    return _version(row)
