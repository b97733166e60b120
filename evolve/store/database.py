"""One database: short read and write transactions, and a group writer for rows that arrive by the hundred."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from sqlalchemy import URL, Connection, create_engine

from evolve.core.redact import Redactor
from evolve.store.group import GroupWriter
from evolve.store.packing import timestamp, utc_now
from evolve.store.sqlite import DURABLE, GROUPED, prepare_engine, world_errors


def sqlite_url(path: Path) -> URL:
    """The address of a SQLite file; any file name is allowed."""
    return URL.create("sqlite", database=str(path))


class Database:
    """An engine and the clock that dates its rows. Threads may share it; a forked child may not.

    `redactor` takes secrets out of whatever its stores write. `place` names the database in error messages. Whatever
    the disk or another process does wrong is a WorldError.
    """

    def __init__(self, url: URL, *, place: str, clock: Callable[[], datetime] = utc_now) -> None:
        self.place = place
        self.clock = clock
        self.redactor = Redactor()
        self._engine = create_engine(url)
        prepare_engine(self._engine)
        self._durable = self._engine.execution_options(**DURABLE)
        self._grouped = self._engine.execution_options(**GROUPED)
        self.group = GroupWriter(self._write_group)

    def now(self) -> str:
        """The time that a row written now carries in created_at."""
        return timestamp(self.clock())

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database and blocks nobody."""
        with world_errors(self.place), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """The only writer while it lasts: committed, durably, when the block ends, and rolled back when it raises."""
        with world_errors(self.place), self._durable.begin() as connection:
            yield connection

    @contextmanager
    def _write_group(self) -> Iterator[Connection]:
        with world_errors(self.place), self._grouped.begin() as connection:
            yield connection

    def close(self) -> None:
        """Commits what the group writer holds and closes the connections; safe to call twice."""
        self.group.close()
        self._engine.dispose()
