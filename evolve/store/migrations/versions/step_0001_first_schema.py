"""The first schema: results, ledger, versions and pointers, error budget, campaigns, artifacts, journal."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _create_results() -> None:
    op.create_table(
        "results",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("tree", sa.String(64), nullable=False),
        sa.Column("split", sa.String(16), nullable=False),
        sa.Column("case_fingerprint", sa.String(64), nullable=False),
        sa.Column("repetition", sa.Integer(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("trace", sa.LargeBinary(), nullable=False),
    )


def _create_ledger() -> None:
    op.create_table(
        "ledger",
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=True),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.UniqueConstraint("campaign", "key", name="uq_ledger_campaign_key"),
    )


def _create_versions() -> None:
    op.create_table(
        "versions",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("parent", sa.Integer()),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", "number", name="pk_versions"),
        sa.UniqueConstraint("name", "key", name="uq_versions_name_key"),
    )


def _create_pointers() -> None:
    op.create_table(
        "pointers",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("which", sa.Text(), nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("moved_at", sa.String(32), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", "which", name="pk_pointers"),
    )


def _create_pointer_moves() -> None:
    op.create_table(
        "pointer_moves",
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=True),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("which", sa.Text(), nullable=False),
        sa.Column("before", sa.Integer()),
        sa.Column("after", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("key", sa.Text()),
        sa.UniqueConstraint("name", "which", "key", name="uq_pointer_moves_key"),
    )


def _create_alpha_reservations() -> None:
    op.create_table(
        "alpha_reservations",
        sa.Column("key", sa.Text(), primary_key=True),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("alpha", sa.Float(), nullable=False),
        sa.Column("budget", sa.Float(), nullable=False),
        sa.Column("cases_hash", sa.String(64), nullable=False),
    )


def _create_alpha_spends() -> None:
    op.create_table(
        "alpha_spends",
        sa.Column("text_key", sa.String(64), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("alpha", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("text_key", "key", name="pk_alpha_spends"),
    )


def _create_campaigns() -> None:
    op.create_table(
        "campaigns",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("changed_at", sa.String(32), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("fingerprints", sa.Text(), nullable=False),
    )


def _create_artifacts() -> None:
    op.create_table(
        "artifacts",
        sa.Column("sha", sa.String(64), primary_key=True),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
    )


def _create_calls() -> None:
    op.create_table(
        "calls",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("loop", sa.Text(), nullable=False),
        sa.Column("candidate", sa.Text(), nullable=False),
        sa.Column("case", sa.Text(), nullable=False),
        sa.Column("repetition", sa.Integer(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("request_hash", sa.String(64), nullable=False),
        sa.Column("request", sa.LargeBinary()),
        sa.Column("reserved_usd", sa.Text()),
        sa.Column("reserved_prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("reserved_completion_tokens", sa.Integer(), nullable=False),
    )
    op.create_index("ix_calls_campaign_id", "calls", ["campaign", "id"])


def _create_call_ends() -> None:
    op.create_table(
        "call_ends",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("reply", sa.LargeBinary()),
        sa.Column("reply_hash", sa.String(64), nullable=False),
        sa.Column("usd", sa.Text()),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("cached_tokens", sa.Integer(), nullable=False),
        sa.Column("cache_write_tokens", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
    )


def upgrade() -> None:
    _create_results()
    _create_ledger()
    _create_versions()
    _create_pointers()
    _create_pointer_moves()
    _create_alpha_reservations()
    _create_alpha_spends()
    _create_campaigns()
    _create_artifacts()
    _create_calls()
    _create_call_ends()


def downgrade() -> None:
    op.drop_table("call_ends")
    op.drop_table("calls")
    op.drop_table("artifacts")
    op.drop_table("campaigns")
    op.drop_table("alpha_spends")
    op.drop_table("alpha_reservations")
    op.drop_table("pointer_moves")
    op.drop_table("pointers")
    op.drop_table("versions")
    op.drop_table("ledger")
    op.drop_table("results")
