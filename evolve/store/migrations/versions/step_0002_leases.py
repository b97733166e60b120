"""Leases of running campaigns, and cache writes that are kept for an hour."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds a table and a column."""
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


def downgrade() -> None:
    """Takes them away again."""
    op.drop_table("leases")
    op.drop_column("call_ends", "cache_write_1h_tokens")
