"""Everything that is special about SQLite: WAL, durability, locking and what its error codes mean."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, Table, event
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError, IntegrityError, ProgrammingError
from sqlalchemy.sql.dml import Insert

from evolve.core.errors import WorldError

BUSY_MILLISECONDS = 10_000
"""How long one attempt waits for another process's write transaction."""

BUSY_ATTEMPTS = 3

DURABLE = {"write": "FULL"}
"""Execution options of a transaction that is on the disk when it returns."""

GROUPED = {"write": "NORMAL"}
"""Execution options of a transaction that survives the end of the process at once, and a power cut a little later.

The next durable commit takes it along: whatever a promotion rests on is on the disk before the promotion is.
"""

_FAULTS: dict[int, tuple[str, bool]] = {
    sqlite3.SQLITE_BUSY: ("locked by another process for too long", True),
    sqlite3.SQLITE_LOCKED: ("locked by another process for too long", True),
    sqlite3.SQLITE_READONLY: ("read-only: make the file and its folder writable", False),
    sqlite3.SQLITE_FULL: ("not writable because the disk is full: free some space and resume", False),
    sqlite3.SQLITE_IOERR: ("not readable or writable: the disk reports an input/output error", False),
    sqlite3.SQLITE_CANTOPEN: ("not to be opened: check that the folder exists and may be read and written", False),
    sqlite3.SQLITE_CORRUPT: ("damaged: restore it from a backup", False),
    sqlite3.SQLITE_NOTADB: ("not a database: restore it from a backup or choose another home", False),
}


def prepare_engine(engine: Engine) -> None:
    """Makes every connection of a SQLite engine durable and patient; other databases are left as they are."""
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _open_connection)
        event.listen(engine, "begin", _begin)


def insert_new(table: Table) -> Insert:
    """An insert that leaves an existing row with the same key as it is."""
    # SQLite and PostgreSQL spell this clause alike, and PostgreSQL's construct compiles for both.
    return postgresql.insert(table).on_conflict_do_nothing()


@contextmanager
def world_errors(place: str) -> Iterator[None]:
    """Turns what the database reports about the outside into a WorldError that a person can act on."""
    try:
        yield
    except (IntegrityError, ProgrammingError):
        raise
    except (DBAPIError, sqlite3.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        message, passing = _FAULTS.get(_primary_code(cause), (f"failing: {cause}", False))
        raise WorldError(f"{place} is {message}", passing=passing, halts=not passing) from error


def _primary_code(error: BaseException | None) -> int:
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def _open_connection(connection: sqlite3.Connection, _record: Any) -> None:
    # Transactions are begun by `_begin`; the driver must not begin its own.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        _patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"))


def _begin(connection: Connection) -> None:
    raw: Any = connection.connection.dbapi_connection
    durability = connection.get_execution_options().get("write")
    if durability is None:
        _patiently(lambda: raw.execute("BEGIN"))
        return
    raw.execute(f"PRAGMA synchronous = {durability}")
    # A write transaction takes its lock at the start: one that began as a reader could lose it half-way.
    _patiently(lambda: raw.execute("BEGIN IMMEDIATE"))


def _patiently(act: Callable[[], object]) -> None:
    """Some locks fail at once instead of waiting for busy_timeout, so the attempt is repeated."""
    for attempt in range(BUSY_ATTEMPTS):
        try:
            act()
            return
        except sqlite3.OperationalError as error:
            if _primary_code(error) != sqlite3.SQLITE_BUSY or attempt == BUSY_ATTEMPTS - 1:
                raise
            time.sleep(0.05 * (attempt + 1))
