"""Leases of running campaigns, effects that must happen once, and cache writes kept for an hour."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds two tables and one column."""
    op.add_column("call_ends", sa.Column("cache_write_1h_tokens", sa.Integer(), nullable=False, server_default="0"))
    op.create_table(
        "leases",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("renewed_at", sa.String(32), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("ended", sa.Text(), nullable=False),
    )
    op.create_index("ix_leases_campaign", "leases", ["campaign"])
    op.create_table(
        "effects",
        sa.Column("key", sa.Text(), primary_key=True),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
    )


def downgrade() -> None:
    """Takes them away again."""
    op.drop_table("effects")
    op.drop_table("leases")
    op.drop_column("call_ends", "cache_write_1h_tokens")
