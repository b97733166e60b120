"""The checkpoints of campaigns as bytes and texts, for `evolve gc` and `evolve forget`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from evolve.core.errors import WorldError
from evolve.store import Home
from evolve.store.rewriting import replace_strings

CHECKPOINTS = "checkpoints.db"
_BLOBS = (("checkpoints", "checkpoint"), ("writes", "value"))


def checkpoint_bytes(home: Home) -> Iterator[bytes]:
    """Everything that the checkpoints hold, as it is stored: strings stand in it as UTF-8."""
    with _open(home) as connection:
        for table, column in (*_BLOBS, ("checkpoints", "metadata")) if connection else ():
            for (data,) in connection.execute(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL"):
                yield bytes(data) if isinstance(data, bytes) else str(data).encode()


def rewrite_checkpoints(home: Home, holds: Callable[[str], bool], replacement: str) -> int:
    """Replaces every string that `holds` in the states of campaigns; returns how many rows changed."""
    serializer, changed = JsonPlusSerializer(), 0
    with _open(home) as connection:
        for table, column in _BLOBS if connection else ():
            rows = connection.execute(
                f"SELECT rowid, type, {column} FROM {table} WHERE {column} IS NOT NULL"
            ).fetchall()
            for at, kind, data in rows:
                old = serializer.loads_typed((kind, data))
                new = replace_strings(old, holds, replacement)
                if new != old:
                    values = (*serializer.dumps_typed(new), at)
                    connection.execute(f"UPDATE {table} SET type = ?, {column} = ? WHERE rowid = ?", values)
                    changed += 1
    return changed


@contextmanager
def _open(home: Home) -> Iterator[Any]:
    """A connection that commits at the end; None where no campaign has run yet."""
    path = home.path / CHECKPOINTS
    if not path.exists():
        yield None
        return
    try:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA busy_timeout = 10000")
            connection.execute("PRAGMA secure_delete = ON")
            yield connection
    except sqlite3.Error as error:
        raise WorldError(f"the checkpoints {path} cannot be read or written: {error}", passing=False) from error
