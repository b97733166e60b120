"""Content-addressed blobs: fitted routers, reports, whatever is too large for a row."""

from __future__ import annotations

import json

from sqlalchemy import select

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue, sha256_hex
from evolve.store.database import Database
from evolve.store.packing import json_text
from evolve.store.sqlite import insert_new
from evolve.store.tables import artifacts


class Artifacts:
    """Bytes by their SHA-256."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, data: bytes) -> str:
        """Stores `data` (idempotent, durable) and returns its SHA-256."""
        sha = sha256_hex(data)
        with self._database.write() as connection:
            connection.execute(insert_new(artifacts), {"sha": sha, "created_at": self._database.now(), "data": data})
        return sha

    def get(self, sha: str) -> bytes:
        """The bytes. UserError when they are unknown here."""
        with self._database.read() as connection:
            data = connection.execute(select(artifacts.c.data).where(artifacts.c.sha == sha)).scalar_one_or_none()
        if data is None:
            raise UserError(f"artifact {sha!r} is unknown in {self._database.place}", fix="check the home it came from")
        return bytes(data)

    def put_json(self, value: JSONValue) -> str:
        """Stores a JSON document; the order of its keys is kept, secrets in it are redacted."""
        return self.put(json_text(self._database.redactor.value(value)).encode("ascii"))

    def get_json(self, sha: str) -> JSONValue:
        """The document that `put_json` stored."""
        return json.loads(self.get(sha))
