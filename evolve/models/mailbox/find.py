"""Requests of a whole home: every campaign's mailboxes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from evolve.core.errors import PointerMoved, UserError
from evolve.core.names import nearest
from evolve.models.mailbox.box import Box
from evolve.models.mailbox.claims import Claim
from evolve.models.mailbox.documents import RequestDocument


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A request without a reply. `owner` is a campaign's id, or `route-` and a query's id."""

    owner: str
    box: Box
    asked: RequestDocument
    claim: Claim | None


def list_requests(root: Path, now: datetime) -> list[OpenRequest]:
    """The open requests below `root`, oldest first."""
    found = [
        OpenRequest(box.folder.parent.name, box, box.read(id), box.claimed(id, now))
        for box in _boxes(root)
        for id in box.open_ids()
    ]
    return sorted(found, key=lambda one: (one.asked.asked_at, one.asked.id))


def find_request(root: Path, id: str) -> tuple[Box, str]:
    """The one request, answered or not, whose id begins with `id`. UserError for none or several."""
    known = [(box, full) for box in _boxes(root) for full in box.ids()]
    hits = [(box, full) for box, full in known if full.startswith(id)]
    exact = [(box, full) for box, full in hits if full == id]
    hits = exact or hits
    if id and len(hits) == 1:
        return hits[0]
    if id and hits:
        raise UserError(
            f"{len(hits)} requests begin with {id!r}",
            place="ID",
            fix=f"one of {', '.join(full for _, full in hits[:5])}",
        )
    near = nearest(id, [full for _, full in known])
    raise UserError(
        f"there is no request {id!r}", place="ID", fix=f"did you mean {near!r}?" if near else "evolve mailbox list"
    )


def claim_one(root: Path, id: str, by: str, now: datetime, hold: timedelta) -> OpenRequest:
    """The request whose id begins with `id`, claimed. Raises as `find_request` and `Box.claim`."""
    box, full = find_request(root, id)
    claim = box.claim(full, by, now, hold)
    return OpenRequest(box.folder.parent.name, box, box.read(full), claim)


def claim_first(root: Path, by: str, now: datetime, hold: timedelta) -> OpenRequest:
    """The oldest request that nobody has claimed, claimed. UserError when there is none."""
    for one in list_requests(root, now):
        if one.claim is None:
            try:
                return replace(one, claim=one.box.claim(one.asked.id, by, now, hold))
            except PointerMoved:  # somebody was quicker; there may be another one
                continue
    raise UserError("no request is free", place="mailbox", fix="look again later, or see `evolve mailbox list`")


def _boxes(root: Path) -> list[Box]:
    return [Box(path.parent) for path in sorted(root.glob("*/*/requests")) if path.is_dir()]
