"""Campaigns: what each was started with, how it stands, and the lock that a running one holds."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

from sqlalchemy import RowMapping, select, update

from evolve.core.errors import UserError, WorldError
from evolve.core.hashing import JSONValue
from evolve.store.database import Database
from evolve.store.packing import json_text
from evolve.store.sqlite import insert_new
from evolve.store.tables import campaigns

CREATED = "created"
"""The status of a campaign that has not run yet; the campaign itself names the others."""


@dataclass(frozen=True)
class CampaignRow:
    """One campaign. `fingerprints` say what a resume must find unchanged."""

    id: str
    created_at: str
    changed_at: str
    status: str
    config: Mapping[str, JSONValue]
    fingerprints: Mapping[str, JSONValue]


class CampaignLock:
    """Held by one live process. The system releases it when the process ends, however it ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def __enter__(self) -> CampaignLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        """Lets the next process in; safe to call twice."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class CampaignStore:
    """Campaign rows in the database and their locks in a folder."""

    def __init__(self, database: Database, locks: Path) -> None:
        self._database = database
        self._locks = locks

    def create(self, id: str, config: Mapping[str, JSONValue], fingerprints: Mapping[str, JSONValue]) -> CampaignRow:
        """A new campaign. UserError when the id is taken."""
        now = self._database.now()
        row: dict[str, Any] = {
            "id": id,
            "created_at": now,
            "changed_at": now,
            "status": CREATED,
            "config": json_text(dict(config)),
            "fingerprints": json_text(dict(fingerprints)),
        }
        with self._database.write() as connection:
            if connection.execute(insert_new(campaigns), row).rowcount != 1:
                raise UserError(
                    "a campaign with this id exists", place=f"campaign:{id}", fix="resume it or choose another id"
                )
        return _campaign(row)

    def get(self, id: str) -> CampaignRow:
        """One campaign. UserError when it is unknown."""
        with self._database.read() as connection:
            row = connection.execute(select(campaigns).where(campaigns.c.id == id)).mappings().one_or_none()
        if row is None:
            raise UserError(
                "no such campaign in this home", place=f"campaign:{id}", fix="list them with `evolve status`"
            )
        return _campaign(row)

    def list(self) -> list[CampaignRow]:
        """All campaigns, oldest first."""
        query = select(campaigns).order_by(campaigns.c.created_at, campaigns.c.id)
        with self._database.read() as connection:
            return [_campaign(row) for row in connection.execute(query).mappings()]

    def set_status(self, id: str, status: str) -> None:
        """Says how a campaign stands now. UserError when it is unknown."""
        self._change(id, {"status": status})

    def set_journal(self, id: str, journal: Mapping[str, JSONValue]) -> None:
        """Records what is kept of its texts and for how long; `evolve gc` and `evolve route` go by it."""
        self._change(id, {"config": json_text({**self.get(id).config, "journal": dict(journal)})})

    def set_fingerprints(self, id: str, fingerprints: Mapping[str, JSONValue]) -> None:
        """Records what a resume must find unchanged. UserError when the campaign is unknown."""
        self._change(id, {"fingerprints": json_text(dict(fingerprints))})

    def lock(self, id: str) -> CampaignLock:
        """Takes the campaign for this process. UserError, naming the holder, when another one runs it."""
        path = self._locks / f"{quote(id, safe='')}.lock"
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise WorldError(f"the lock {path} cannot be made: {error.strerror}", passing=False) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace") or "unknown"
            os.close(descriptor)
            raise UserError(
                f"it is running in process {holder}", place=f"campaign:{id}", fix="wait for it, or end that process"
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode("ascii"), 0)
        return CampaignLock(descriptor)

    def _change(self, id: str, values: dict[str, str]) -> None:
        self.get(id)
        change = update(campaigns).where(campaigns.c.id == id).values(**values, changed_at=self._database.now())
        with self._database.write() as connection:
            connection.execute(change)


def _campaign(row: RowMapping | Mapping[str, Any]) -> CampaignRow:
    return CampaignRow(**{**row, "config": json.loads(row["config"]), "fingerprints": json.loads(row["fingerprints"])})
