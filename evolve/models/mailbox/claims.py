"""Claims: who is answering a request, until when."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from pydantic import AwareDatetime, Field, ValidationError

from evolve.core.errors import PointerMoved
from evolve.models.mailbox.documents import Document
from evolve.models.mailbox.files import create_file, json_bytes

_LOCK = ".lock"


class Claim(Document):
    """One reader's word that it is answering `id`; after `expires_at` anybody may take it over."""

    id: str
    by: str = Field(min_length=1, max_length=200)
    claimed_at: AwareDatetime
    expires_at: AwareDatetime

    def holds(self, now: datetime) -> bool:
        """Whether it still counts."""
        return now < self.expires_at


class Claims:
    """The claims in one folder. A fresh one is created exclusively; an expired one is taken over under a lock."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, id: str, now: datetime) -> Claim | None:
        """The claim that holds now; one that cannot be read counts as none."""
        try:
            claim = Claim.model_validate_json(self._path(id).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None
        return claim if claim.holds(now) else None

    def take(self, claim: Claim) -> None:
        """Writes it durably. PointerMoved when another one holds, whoever made it."""
        with self._alone():
            held = self.find(claim.id, claim.claimed_at)
            if held is not None:
                raise _taken(held)
            self._path(claim.id).unlink(missing_ok=True)
            try:
                create_file(self._path(claim.id), json_bytes(claim.model_dump(mode="json")))
            except FileExistsError:  # a reader that keeps to the format but not to the lock
                raise PointerMoved(f"the claim on {claim.id}", "free", "taken at this moment") from None

    def require_free(self, id: str, by: str, now: datetime) -> None:
        """PointerMoved when somebody other than `by` holds the claim."""
        held = self.find(id, now)
        if held is not None and held.by != by:
            raise _taken(held)

    def _path(self, id: str) -> Path:
        return self._folder / f"{id}.json"

    @contextmanager
    def _alone(self) -> Iterator[None]:
        descriptor = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _taken(held: Claim) -> PointerMoved:
    return PointerMoved(f"the claim on {held.id}", "free", f"held by {held.by} until {held.expires_at:%H:%M:%S} UTC")
