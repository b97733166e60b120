"""Open requests of a home's mailboxes, as rows and as lines."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from evolve.models.mailbox import OpenRequest, list_requests
from evolve.store import Home

_SHOWN = 70


def mail_rows(home: Home, now: datetime) -> list[dict[str, Any]]:
    """One row for each open request, oldest first. `campaign_status` is empty where a route asks, not a campaign."""
    statuses = {row.id: row.status for row in home.campaigns.list()}
    return [_row(one, statuses.get(one.owner, ""), now) for one in list_requests(home.mailbox, now)]


def mail_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Two lines for each request: what it is, and how its last message begins."""
    lines = []
    for row in rows:
        claim = f", claimed by {row['claimed_by']} until {row['claimed_until']}" if row["claimed_by"] else ""
        ended = f" ({row['campaign_status']})" if row["campaign_status"] else ""
        words = f"{row['id']}  {row['mailbox']} of {row['owner']}{ended}, {row['step'] or 'no step'}"
        lines += [f"{words}, {row['age_seconds']:,} s old{claim}", f"    {row['begins']}"]
        if row["rejected"]:
            lines.append(f"    the last answer was rejected: {row['rejected']}")
    return lines or ["no open requests"]


def _row(one: OpenRequest, status: str, now: datetime) -> dict[str, Any]:
    asked, claim = one.asked, one.claim
    error = one.box.error_path(asked.id)
    last = asked.messages[-1].content if asked.messages else ""
    return {
        "id": asked.id,
        "owner": one.owner,
        "campaign_status": status,
        "mailbox": asked.mailbox,
        "step": asked.step,
        "asked_at": asked.asked_at.isoformat(),
        "age_seconds": max(0, round((now - asked.asked_at).total_seconds())),
        "claimed_by": claim.by if claim else None,
        "claimed_until": claim.expires_at.isoformat(timespec="seconds") if claim else None,
        "rejected": error.read_text(encoding="utf-8").split("\n", 1)[0] if error.exists() else None,
        "begins": " ".join(last[: 4 * _SHOWN].split())[:_SHOWN],
        "path": str(one.box.request_path(asked.id)),
    }
