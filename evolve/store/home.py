"""A home: the folder that holds everything the engine remembers, and how it is found."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

from sqlalchemy import func, select, text

from evolve.core.errors import UserError, WorldError
from evolve.core.hashing import JSONValue
from evolve.core.redact import Redactor
from evolve.store import tables
from evolve.store.alpha import AlphaStore
from evolve.store.artifacts import Artifacts
from evolve.store.campaigns import CampaignStore
from evolve.store.database import Database, sqlite_url
from evolve.store.erasing import Eraser
from evolve.store.journal import JournalStore
from evolve.store.leases import LeaseStore
from evolve.store.ledger import Ledger
from evolve.store.packing import utc_now
from evolve.store.results import ResultStore
from evolve.store.rewriting import Rewriter
from evolve.store.schema import ensure_schema, schema_version
from evolve.store.trees import GitTrees
from evolve.store.versions import VersionStore

FOLDER = ".evolve"
VARIABLE = "EVOLVE_HOME"
DATABASE = "evolve.db"


@dataclass(frozen=True)
class Home:
    """An open home and its stores."""

    path: Path
    database: Database
    trees: GitTrees

    @cached_property
    def results(self) -> ResultStore:
        """Evaluation results by result key."""
        return ResultStore(self.database)

    @cached_property
    def ledger(self) -> Ledger:
        """What happened and why."""
        return Ledger(self.database)

    @cached_property
    def versions(self) -> VersionStore:
        """Versions and their pointers."""
        return VersionStore(self.database)

    @cached_property
    def alpha(self) -> AlphaStore:
        """The error budget of heldout cases."""
        return AlphaStore(self.database)

    @cached_property
    def campaigns(self) -> CampaignStore:
        """Campaigns and their locks."""
        return CampaignStore(self.database, self.path / "locks")

    @cached_property
    def leases(self) -> LeaseStore:
        """Who works, or worked, on a campaign."""
        return LeaseStore(self.database)

    @cached_property
    def artifacts(self) -> Artifacts:
        """Content-addressed blobs."""
        return Artifacts(self.database)

    @cached_property
    def journal(self) -> JournalStore:
        """Rows of model calls."""
        return JournalStore(self.database)

    def check_integrity(self) -> list[str]:
        """What the database says of its own pages; empty when it is sound."""
        with self.database.read() as connection:
            lines = connection.execute(text("PRAGMA integrity_check")).scalars().all()
        return [str(line) for line in lines if line != "ok"]

    @cached_property
    def eraser(self) -> Eraser:
        """Takes kept texts out again."""
        return Eraser(self.database)

    @cached_property
    def rewriter(self) -> Rewriter:
        """Replaces texts inside documents and artifacts."""
        return Rewriter(self.database)

    @property
    def redactor(self) -> Redactor:
        """What takes secrets out of everything that is written here; texts that go elsewhere need it too."""
        return self.database.redactor

    def learn_secrets(self, redactor: Redactor) -> None:
        """From now on these secrets are redacted as well."""
        self.database.redactor = self.redactor.also(redactor)

    @property
    def mailbox(self) -> Path:
        """Where models that are people or jobs find their requests, a folder for each campaign."""
        return self.path / "mailbox"

    def describe(self) -> dict[str, JSONValue]:
        """Where it is, its schema, its size in bytes and how much it holds."""
        counted = (tables.campaigns, tables.versions, tables.results, tables.calls)
        with self.database.read() as connection:
            counts = {
                table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
                for table in counted
            }
        return {
            "path": str(self.path),
            "schema": schema_version(self.database),
            "database_bytes": _size(self.path, f"{DATABASE}*"),
            "trees_bytes": _size(self.trees.path, "**/*"),
            **counts,
        }

    def close(self) -> None:
        """Commits what is waiting and lets go of files; safe to call twice."""
        self.database.close()
        self.trees.close()


def open_home(
    path: Path | None = None,
    *,
    create: bool = False,
    near: Path | None = None,
    environment: Mapping[str, str] | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> Home:
    """Opens the home at `path`, else at EVOLVE_HOME, else the nearest `.evolve` in or above the folder of `near`.

    The environment's secrets are kept out of it. `near` is a file or a folder, by default the current folder. With
    `create` what is missing is made there. Raises UserError when there is none or it was written by a newer engine,
    WorldError when its disk refuses.
    """
    environment = os.environ if environment is None else environment
    place = path or _find(environment, near or Path.cwd(), create=create)
    if not (place / DATABASE).exists() and not create:
        raise UserError(
            "there is no home here", place=str(place), fix="run `evolve init`, or name another home in EVOLVE_HOME"
        )
    place = _prepare(place) if create else place.resolve()
    database = Database(sqlite_url(place / DATABASE), place=f"the home {place}", clock=clock)
    database.redactor = Redactor.of(environment)
    try:
        ensure_schema(database, place / "locks" / "schema.lock")
        trees = GitTrees(place / "trees.git", clock=clock)
    except BaseException:
        database.close()
        raise
    return Home(place, database, trees)


def _find(environment: Mapping[str, str], near: Path, *, create: bool) -> Path:
    if environment.get(VARIABLE):
        return Path(environment[VARIABLE]).expanduser()
    here = near.resolve()
    here = here if here.is_dir() else here.parent
    for folder in (here, *here.parents):
        if (folder / FOLDER / DATABASE).exists():
            return folder / FOLDER
    if create:
        return here / FOLDER
    raise UserError(
        f"no {FOLDER} folder here or above", place=str(here), fix=f"run `evolve init`, or set {VARIABLE} to a home"
    )


def _prepare(place: Path) -> Path:
    """The folder, its locks, and a .gitignore so that a project's own repository never sees it."""
    try:
        real = place.resolve()
        (real / "locks").mkdir(parents=True, exist_ok=True)
        ignore = real / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="ascii")
    except OSError as error:
        raise WorldError(f"the home {place} cannot be made: {error.strerror}", passing=False) from error
    return real


def _size(folder: Path, pattern: str) -> int:
    return sum(file.stat().st_size for file in folder.glob(pattern) if file.is_file())
