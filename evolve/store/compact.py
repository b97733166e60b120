"""Making a SQLite file forget what was deleted from it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from evolve.core.errors import WorldError
from evolve.store.sqlite import BUSY_MILLISECONDS, world_errors


def compact(path: Path) -> int:
    """Rewrites a SQLite file without its free pages and empties its log; returns how many bytes it shrank by.

    WorldError when another process is using it, because then old pages would stay readable in the log.
    """
    if not path.exists():
        return 0
    before = _sizes(path)
    with world_errors(f"the database {path}"), closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("VACUUM")
        busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if busy:
        raise WorldError(f"the database {path} is in use by another process: end it and repeat the command")
    return before - _sizes(path)


def _sizes(path: Path) -> int:
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))
