"""`evolve gc`: what is older than its campaign keeps it, and what nothing refers to."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from evolve.campaign.checkpoints import CHECKPOINTS, checkpoint_bytes
from evolve.campaign.journal import read_settings
from evolve.campaign.route import ROUTE, version_journal
from evolve.campaign.run import ENDED
from evolve.core.errors import UserError
from evolve.run.trace_json import hide_texts
from evolve.store import Home
from evolve.store.compact import compact
from evolve.store.erasing import KeptCall
from evolve.store.home import DATABASE
from evolve.store.packing import timestamp, unpack_json

EXPIRED = "expired"
DAY = timedelta(days=1)
"""Younger things than this are never leftovers: somebody may be about to refer to them."""
_SHA = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


@dataclass(frozen=True)
class Removed:
    """How many of one kind, and how many bytes they held (before compression of the file)."""

    what: str
    count: int
    bytes: int


@dataclass(frozen=True)
class Collection:
    """What was removed (or would be), by how much the files shrank, and what was left alone and why."""

    removed: tuple[Removed, ...]
    shrunk: int
    notes: tuple[str, ...]


class _Keeper:
    """Who keeps what for how long in one home at one moment."""

    def __init__(self, home: Home, now: datetime) -> None:
        self.home = home
        self.now = now
        self.campaigns = {row.id: row for row in home.campaigns.list()}
        self.running = {id for id in self.campaigns if _is_running(home, id)}
        self._versions: dict[str, int | None] = {}

    def days(self, owner: str) -> int | None:
        """For how many days the calls of a campaign, or of a routed query, are kept; None: without end."""
        if owner in self.campaigns:
            return read_settings(self.campaigns[owner].config.get("journal")).keep_days
        label = owner.removeprefix(ROUTE).rpartition("/")[0]
        if not owner.startswith(ROUTE):
            return None
        if label not in self._versions:
            name, _, number = label.partition("@")
            self._versions[label] = version_journal(self.home, name, int(number)).keep_days if number else None
        return self._versions[label]

    def cutoff(self, owner: str) -> str:
        """The start of what is kept; "" when everything is, which includes whatever is running."""
        days = None if owner in self.running else self.days(owner)
        return "" if days is None else timestamp(self.now - days * DAY)


def collect_garbage(home: Home, *, dry_run: bool) -> Collection:
    """Removes, or with `dry_run` only counts. Rows, hashes, usage, money, ledger, versions and trees always stay.

    A campaign that is running is left alone, and while one runs so are artifacts and files.
    """
    keeper = _Keeper(home, home.database.clock())
    removed = [_expire_calls(keeper, dry_run), _expire_traces(keeper, dry_run)]
    notes = [f"{id} is running: left alone" for id in sorted(keeper.running)]
    shrunk = 0
    if keeper.running:
        notes.append("artifacts and files were left alone, and nothing was compacted, while a campaign runs")
    else:
        removed += [_drop_artifacts(keeper, dry_run), _drop_leftovers(keeper, dry_run)]
        if not dry_run:
            shrunk = sum(compact(home.path / name) for name in (DATABASE, CHECKPOINTS))
    return Collection(tuple(removed), shrunk, tuple(notes))


def _expire_calls(keeper: _Keeper, dry_run: bool) -> Removed:
    eraser, count, size = keeper.home.eraser, 0, 0
    for owner in eraser.call_owners():
        cutoff = keeper.cutoff(owner)
        found: list[KeptCall] = [c for c in eraser.calls(owner, cutoff) if c.bodies] if cutoff else []
        count, size = count + len(found), size + sum(call.size for call in found)
        if found and not dry_run:
            eraser.erase_calls(found, EXPIRED)
    return Removed("request and reply bodies of calls", count, size)


def _expire_traces(keeper: _Keeper, dry_run: bool) -> Removed:
    eraser, count, size, found = keeper.home.eraser, 0, 0, []
    cutoffs = {id: cutoff for id in keeper.campaigns if (cutoff := keeper.cutoff(id))}
    for _, row in eraser.traces(max(cutoffs.values(), default="")):
        trace = unpack_json(row.trace)
        if row.created_at < cutoffs.get(trace.get("campaign", ""), "") and trace.get("kept") is None:
            count, size = count + 1, size + len(row.trace)
            found.append((row, hide_texts(trace, EXPIRED)))
    if not dry_run:
        eraser.replace_traces(found)
    return Removed("traces", count, size)


def _drop_artifacts(keeper: _Keeper, dry_run: bool) -> Removed:
    """Artifacts that no row, no checkpoint and no other artifact names."""
    eraser = keeper.home.rewriter
    texts = (*eraser.mentions(), *checkpoint_bytes(keeper.home))
    named = {sha.decode() for text in texts for sha in _SHA.findall(text)}
    sizes = eraser.artifact_sizes(timestamp(keeper.now - DAY))
    loose = {sha: size for sha, size in sizes.items() if sha not in named}
    if loose and not dry_run:
        eraser.delete_artifacts(loose)
    return Removed("artifacts that nothing refers to", len(loose), sum(loose.values()))


def _drop_leftovers(keeper: _Keeper, dry_run: bool) -> Removed:
    """What a killed process left: half-made tree stores; and, once every campaign has ended, files in a mailbox."""
    oldest = (keeper.now - DAY).timestamp()
    found = [path for path in _leftovers(keeper) if path.stat().st_mtime < oldest]
    size = sum(file.stat().st_size for path in found for file in (path, *path.rglob("*")) if file.is_file())
    if not dry_run:
        for path in found:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return Removed("leftover files", len(found), size)


def _leftovers(keeper: _Keeper) -> Iterator[Path]:
    home = keeper.home
    yield from home.path.glob(f".{home.trees.path.name}-*")
    if all(row.status in ENDED for row in keeper.campaigns.values()):
        yield from (path for path in home.path.glob("mailbox*/**/*") if path.is_file())


def _is_running(home: Home, campaign: str) -> bool:
    with suppress(UserError), home.campaigns.lock(campaign):
        return False
    return True
