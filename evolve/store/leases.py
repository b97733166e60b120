"""Leases: which process works on a campaign, since when, and how long all of them have worked on it together."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from sqlalchemy import RowMapping, func, select, update

from evolve.store.database import Database
from evolve.store.tables import leases

OPEN = ""


@dataclass(frozen=True)
class Lease:
    """One process's turn at a campaign. `seconds` is monotonic working time up to `renewed_at`; `ended` says how."""

    id: str
    created_at: str
    campaign: str
    holder: str
    renewed_at: str
    seconds: float
    ended: str


class LeaseStore:
    """Lease rows. That only one process works at a time is the campaign lock's business; leases say what happened."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def open(self, campaign: str, holder: str) -> Lease:
        """A new lease, durable."""
        now = self._database.now()
        lease = Lease(secrets.token_hex(8), now, campaign, holder, now, 0.0, OPEN)
        with self._database.write() as connection:
            connection.execute(leases.insert(), {name: getattr(lease, name) for name in Lease.__dataclass_fields__})
        return lease

    def renew(self, id: str, seconds: float) -> None:
        """Says that the holder is alive after `seconds` of work."""
        self._change(id, seconds=seconds)

    def close(self, id: str, seconds: float, how: str) -> None:
        """Ends a lease; `how` is what status the campaign was left in."""
        self._change(id, seconds=seconds, ended=how)

    def bury(self, campaign: str) -> None:
        """Ends the open leases of a campaign whose lock the caller holds: their holders are dead."""
        for lease in self.unended(campaign):
            self._change(lease.id, ended="died")

    def unended(self, campaign: str) -> list[Lease]:
        """The leases that nobody has closed, oldest first."""
        return [lease for lease in self.of(campaign) if lease.ended == OPEN]

    def of(self, campaign: str) -> list[Lease]:
        """All leases of a campaign, oldest first."""
        query = select(leases).where(leases.c.campaign == campaign).order_by(leases.c.created_at, leases.c.id)
        with self._database.read() as connection:
            return [_lease(row) for row in connection.execute(query).mappings()]

    def worked(self, campaign: str) -> float:
        """Seconds that all holders have worked on it; what a dead one did after its last renewal is not known."""
        with self._database.read() as connection:
            query = select(func.coalesce(func.sum(leases.c.seconds), 0.0)).where(leases.c.campaign == campaign)
            return float(connection.execute(query).scalar_one())

    def _change(self, id: str, **values: object) -> None:
        change = update(leases).where(leases.c.id == id).values(renewed_at=self._database.now(), **values)
        with self._database.write() as connection:
            connection.execute(change)


def _lease(row: RowMapping) -> Lease:
    return Lease(**row)
