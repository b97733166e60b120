"""The schema version of a home: checked with one query, brought up to date by Alembic only when it is behind."""

from __future__ import annotations

import fcntl
from pathlib import Path

from sqlalchemy import inspect, text

from evolve.core.errors import UserError
from evolve.store.database import Database

SCHEMA = "0002"
"""The last step under migrations/versions."""


def ensure_schema(database: Database, lock: Path) -> None:
    """Upgrades an older schema, one process at a time. UserError when the schema is newer than this engine."""
    if _is_current(database):
        return
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not _is_current(database):
            _upgrade(database)


def schema_version(database: Database) -> str | None:
    """The version in the database; None when it is new."""
    with database.read() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def _is_current(database: Database) -> bool:
    version = schema_version(database)
    if version is not None and version > SCHEMA:
        raise UserError(
            f"its schema is version {version}, and this engine knows versions up to {SCHEMA}",
            place=database.place,
            fix="use the engine that wrote it, or a newer one",
        )
    return version == SCHEMA


def _upgrade(database: Database) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "evolve.store:migrations")
    config.set_main_option("path_separator", "os")
    with database.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
