"""The ledger: what happened and why, in order. Rows are appended once and never changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select

from evolve.core.hashing import JSONValue
from evolve.store.database import Database
from evolve.store.packing import json_text
from evolve.store.sqlite import insert_new
from evolve.store.tables import ledger


@dataclass(frozen=True)
class LedgerRow:
    """One entry. `kind` says what happened, `subject` to what, `detail` the facts."""

    number: int
    created_at: str
    campaign: str
    kind: str
    subject: str
    detail: Mapping[str, JSONValue]
    key: str


class Ledger:
    """Appends and reads ledger rows; secrets in a detail are redacted."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, campaign: str, kind: str, subject: str, detail: Mapping[str, JSONValue], *, key: str) -> bool:
        """Writes a row, durably. False when the campaign has a row with this key: a repeated step appends once."""
        row = {
            "created_at": self._database.now(),
            "campaign": campaign,
            "kind": kind,
            "subject": subject,
            "detail": json_text(self._database.redactor.value(dict(detail))),
            "key": key,
        }
        with self._database.write() as connection:
            return connection.execute(insert_new(ledger), row).rowcount == 1

    def rows(self, campaign: str | None = None, kind: str | None = None) -> list[LedgerRow]:
        """Rows in the order they were written, of one campaign and one kind where given."""
        query = select(ledger).order_by(ledger.c.number)
        if campaign is not None:
            query = query.where(ledger.c.campaign == campaign)
        if kind is not None:
            query = query.where(ledger.c.kind == kind)
        with self._database.read() as connection:
            found = connection.execute(query).mappings().all()
        return [LedgerRow(**{**row, "detail": json.loads(row["detail"])}) for row in found]
