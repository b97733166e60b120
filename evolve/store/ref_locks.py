"""Locks of git references: one writer of this engine at a time, and what a killed one left behind is cleared away."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

OURS = "refs/evolve/"
"""Nobody but this engine writes references below this prefix."""

STALE_SECONDS = 10.0
"""Git holds the lock of a reference for milliseconds: one that is so old belongs to a process that died."""


@contextmanager
def writing(repository: Path, reference: str) -> Iterator[None]:
    """Room to write `reference`. A lock file that a dead process left is removed, at once below OURS."""
    with (repository / "evolve.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _clear(repository / f"{reference}.lock", 0.0 if reference.startswith(OURS) else STALE_SECONDS)
        yield


def _clear(lock: Path, stale: float) -> None:
    """Waits until the lock is gone, or old enough to be removed."""
    with suppress(FileNotFoundError):
        while time.time() - lock.stat().st_mtime < stale:
            time.sleep(0.05)
        lock.unlink()
