"""Texts inside documents and artifacts of a home: found, replaced, and removed where nothing refers to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from sqlalchemy import Column, Connection, Table, func, select, update

from evolve.core.hashing import JSONValue
from evolve.store.database import Database
from evolve.store.erasing import erasing, in_chunks
from evolve.store.packing import json_text
from evolve.store.tables import artifacts, campaigns, ledger, pointer_moves, versions

_DOCUMENTS: tuple[tuple[Table, str], ...] = (
    (ledger, "detail"),
    (versions, "content"),
    (versions, "evidence"),
    (campaigns, "config"),
)
_WORDS: tuple[tuple[Table, str], ...] = (
    (versions, "reason"),
    (pointer_moves, "reason"),
)
Rewrite = Callable[[bytes], bytes | None]
"""New bytes for old ones, or None when they may stay."""


class Rewriter:
    """Changes texts in place, under the keys and names that their rows have."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def rewrite_rows(self, holds: Callable[[str], bool], replacement: str) -> dict[str, int]:
        """Replaces every string that `holds` in ledger, versions, pointer moves and campaigns; counts rows by table."""
        counts: dict[str, int] = {}
        with erasing(self._database) as connection:
            for table, name in (*_DOCUMENTS, *_WORDS):
                plain = (table, name) in _WORDS
                for key, old in _cells(connection, table, name):
                    new = _replaced(old, holds, replacement, plain=plain)
                    if new != old:
                        connection.execute(update(table).where(key).values({name: new}))
                        counts[table.name] = counts.get(table.name, 0) + 1
        return counts

    def rewrite_artifacts(self, rewrite: Rewrite) -> int:
        """Replaces the bytes of artifacts under the names they have, so that whatever refers to them stays whole."""
        changed = 0
        with self._database.read() as connection:
            names = connection.execute(select(artifacts.c.sha)).scalars().all()
        with erasing(self._database) as connection:
            for sha in names:
                old = connection.execute(select(artifacts.c.data).where(artifacts.c.sha == sha)).scalar_one()
                new = rewrite(bytes(old))
                if new is not None:
                    connection.execute(update(artifacts).where(artifacts.c.sha == sha).values(data=new))
                    changed += 1
        return changed

    def artifact_sizes(self, before: str) -> dict[str, int]:
        """Bytes of every artifact stored before a time."""
        query = select(artifacts.c.sha, func.length(artifacts.c.data)).where(artifacts.c.created_at < before)
        with self._database.read() as connection:
            return {sha: size for sha, size in connection.execute(query)}

    def delete_artifacts(self, names: Collection[str]) -> None:
        """Removes artifacts: only for those that nothing refers to."""
        with erasing(self._database) as connection:
            for some in in_chunks(names):
                connection.execute(artifacts.delete().where(artifacts.c.sha.in_(some)))

    def mentions(self) -> Iterator[bytes]:
        """Every text of the tables that could name an artifact, artifacts included."""
        with self._database.read() as connection:
            for table, name in (*_DOCUMENTS, *_WORDS, (ledger, "subject")):
                yield from (str(old).encode() for _, old in _cells(connection, table, name))
            for (data,) in connection.execute(select(artifacts.c.data)):
                yield bytes(data)


def replace_strings(value: JSONValue, holds: Callable[[str], bool], replacement: str) -> JSONValue:
    """`value` with every string that `holds` replaced as a whole."""
    if isinstance(value, str):
        return replacement if holds(value) else value
    if isinstance(value, dict):
        return {key: replace_strings(inner, holds, replacement) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [replace_strings(inner, holds, replacement) for inner in value]
    return value


def _replaced(old: str, holds: Callable[[str], bool], replacement: str, *, plain: bool) -> str:
    if plain:
        return replacement if holds(old) else old
    document = json.loads(old)
    new = replace_strings(document, holds, replacement)
    return old if new == document else json_text(new)


def _cells(connection: Connection, table: Table, name: str) -> list[tuple[Any, str]]:
    """Where each row is found again, and its text in one column."""
    keys: list[Column[Any]] = list(table.primary_key)
    rows = connection.execute(select(*keys, table.c[name])).all()
    return [(_at(keys, row), row[-1]) for row in rows]


def _at(keys: Sequence[Column[Any]], row: Any) -> Any:
    condition: Any = keys[0] == row[0]
    for key, value in zip(keys[1:], row[1:], strict=False):
        condition = condition & (key == value)
    return condition
