"""A session: one process's turn at a campaign, under its lock and a lease that is renewed while it works."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from evolve.core.errors import WorldError
from evolve.core.traces import Spend
from evolve.store import Home, Lease

RENEW_SECONDS = 5.0
"""How often a lease is renewed; a killed process's last seconds, at most so many, are not counted as work."""

_DIED = "its process died in flight: charged at its bound"


@dataclass
class Session:
    """`worked` is the seconds that earlier sessions worked; `ended` is what the lease will say at the end."""

    lease: Lease
    worked: float
    ended: str = "stopped"


@asynccontextmanager
async def open_session(home: Home, campaign: str) -> AsyncIterator[Session]:
    """Takes the campaign, settles what a dead process left, and keeps the lease alive until the block ends.

    Raises UserError when another process works on the campaign.
    """
    with home.campaigns.lock(campaign):
        settle_dead(home, campaign)
        session = Session(home.leases.open(campaign, _holder()), home.leases.worked(campaign))
        started = time.monotonic()
        heart = asyncio.create_task(_beat(home, session.lease.id, started))
        try:
            yield session
        finally:
            heart.cancel()
            with suppress(asyncio.CancelledError):
                await heart
            home.leases.close(session.lease.id, time.monotonic() - started, session.ended)


def settle_dead(home: Home, campaign: str) -> None:
    """Ends the leases and the calls in flight of processes that died, and says so in the ledger.

    Nobody knows what the provider made of those calls, so they stay charged at their bounds. The caller holds the lock.
    """
    lost = [row for row in home.journal.iter(campaign) if row.state == "in_flight"]
    for lease in reversed(home.leases.unended(campaign)):
        mine = [row for row in lost if row.created_at >= lease.created_at]
        lost = [row for row in lost if row.created_at < lease.created_at]
        held = sum((row.spend for row in mine), Spend())
        detail = {"holder": lease.holder, "last_seen": lease.renewed_at, "calls_in_flight": held.calls}
        detail |= {"charged_usd": str(held.usd), "charged_tokens": held.usage.total_tokens}
        home.ledger.append(campaign, "died", lease.id, detail, key=f"died/{lease.id}")
    home.journal.bury(campaign, _DIED)
    home.leases.bury(campaign)


async def _beat(home: Home, lease: str, started: float) -> None:
    while True:
        await asyncio.sleep(RENEW_SECONDS)
        with suppress(WorldError):  # a beat that the disk refused is made good by the next one
            home.leases.renew(lease, time.monotonic() - started)


def _holder() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"
