"""The migrations and the tables say the same."""

from __future__ import annotations

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

from evolve.store import Home, migrations
from evolve.store.schema import SCHEMA
from evolve.store.tables import metadata


def test_migrating_gives_exactly_the_tables(home: Home) -> None:
    with home.database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        names = inspect(connection).get_table_names()
    assert set(names) == {*metadata.tables, "alembic_version"}


def test_the_engine_knows_its_last_step() -> None:
    folder = migrations.__path__[0]
    assert ScriptDirectory(folder).get_current_head() == SCHEMA


def test_every_row_is_dated() -> None:
    for table in metadata.tables.values():
        assert not table.c.created_at.nullable, table.name
