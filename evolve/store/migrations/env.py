"""Runs the schema steps on the connection that the caller passes in; Alembic executes this file by path."""

from __future__ import annotations

from alembic import context

from evolve.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
