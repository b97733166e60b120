"""The tables of a home. Every row carries created_at (ISO 8601, UTC); money is decimal text, JSON is ASCII text."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

results = Table(
    "results",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("created_at", String(32), nullable=False),
    Column("tree", String(64), nullable=False),
    Column("split", String(16), nullable=False),
    Column("case_fingerprint", String(64), nullable=False),
    Column("repetition", Integer, nullable=False),
    Column("result", Text, nullable=False),
    Column("trace", LargeBinary, nullable=False),
)

ledger = Table(
    "ledger",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("created_at", String(32), nullable=False),
    Column("campaign", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("key", Text, nullable=False),
    UniqueConstraint("campaign", "key", name="uq_ledger_campaign_key"),
)

versions = Table(
    "versions",
    metadata,
    Column("name", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("parent", Integer),
    Column("content_hash", String(64), nullable=False),
    Column("content", Text, nullable=False),
    Column("evidence", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("key", Text, nullable=False),
    PrimaryKeyConstraint("name", "number", name="pk_versions"),
    UniqueConstraint("name", "key", name="uq_versions_name_key"),
)

pointers = Table(
    "pointers",
    metadata,
    Column("name", Text, nullable=False),
    Column("which", Text, nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("moved_at", String(32), nullable=False),
    Column("number", Integer, nullable=False),
    PrimaryKeyConstraint("name", "which", name="pk_pointers"),
)

pointer_moves = Table(
    "pointer_moves",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("created_at", String(32), nullable=False),
    Column("name", Text, nullable=False),
    Column("which", Text, nullable=False),
    Column("before", Integer),
    Column("after", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("key", Text),
    UniqueConstraint("name", "which", "key", name="uq_pointer_moves_key"),
)

alpha_reservations = Table(
    "alpha_reservations",
    metadata,
    Column("key", Text, primary_key=True),
    Column("created_at", String(32), nullable=False),
    Column("campaign", Text, nullable=False),
    Column("alpha", Float, nullable=False),
    Column("budget", Float, nullable=False),
    Column("cases_hash", String(64), nullable=False),
)

alpha_spends = Table(
    "alpha_spends",
    metadata,
    Column("text_key", String(64), nullable=False),
    Column("key", Text, nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("alpha", Float, nullable=False),
    PrimaryKeyConstraint("text_key", "key", name="pk_alpha_spends"),
)

campaigns = Table(
    "campaigns",
    metadata,
    Column("id", Text, primary_key=True),
    Column("created_at", String(32), nullable=False),
    Column("changed_at", String(32), nullable=False),
    Column("status", Text, nullable=False),
    Column("config", Text, nullable=False),
    Column("fingerprints", Text, nullable=False),
)

artifacts = Table(
    "artifacts",
    metadata,
    Column("sha", String(64), primary_key=True),
    Column("created_at", String(32), nullable=False),
    Column("data", LargeBinary, nullable=False),
)

calls = Table(
    "calls",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("created_at", String(32), nullable=False),
    Column("key", String(64), nullable=False),
    Column("campaign", Text, nullable=False),
    Column("loop", Text, nullable=False),
    Column("candidate", Text, nullable=False),
    Column("case", Text, nullable=False),
    Column("repetition", Integer, nullable=False),
    Column("role", Text, nullable=False),
    Column("step", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("request_hash", String(64), nullable=False),
    Column("request", LargeBinary),
    Column("reserved_usd", Text),
    Column("reserved_prompt_tokens", Integer, nullable=False),
    Column("reserved_completion_tokens", Integer, nullable=False),
    Index("ix_calls_campaign_id", "campaign", "id"),
)

call_ends = Table(
    "call_ends",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("created_at", String(32), nullable=False),
    Column("state", String(16), nullable=False),
    Column("reply", LargeBinary),
    Column("reply_hash", String(64), nullable=False),
    Column("usd", Text),
    Column("prompt_tokens", Integer, nullable=False),
    Column("completion_tokens", Integer, nullable=False),
    Column("cached_tokens", Integer, nullable=False),
    Column("cache_write_tokens", Integer, nullable=False),
    Column("cache_write_1h_tokens", Integer, nullable=False, server_default="0"),
    Column("seconds", Float, nullable=False),
    Column("note", Text, nullable=False),
)

leases = Table(
    "leases",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("created_at", String(32), nullable=False),
    Column("campaign", Text, nullable=False, index=True),
    Column("holder", Text, nullable=False),
    Column("renewed_at", String(32), nullable=False),
    Column("seconds", Float, nullable=False),
    Column("ended", Text, nullable=False),
)
