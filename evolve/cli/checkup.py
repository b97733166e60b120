"""`evolve doctor`: what is installed, what is reachable, and whether this home is sound."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from evolve.core.errors import EvolveError

MIN_FREE_MB = 500


@dataclass
class Finding:
    """One check. `optional` ones do not make doctor fail."""

    name: str
    ok: bool
    detail: str
    fix: str = ""
    optional: bool = False


def check_deep() -> list[Finding]:
    """Whether the books of this home add up: one finding for each thing that does not, or one that all is well."""
    from evolve.report.reconcile import reconcile
    from evolve.store import open_home

    with closing(open_home()) as home:
        found = reconcile(home)
        calls = home.describe()["calls"]
    if not found:
        return [Finding("books", True, f"{calls:,} calls reconcile with usage, prices, results and caps")]
    return [Finding("books", False, f"{item.where}: {item.what}", item.fix) for item in found]


def check_everything() -> list[Finding]:
    """All checks, in the order a person would do them."""
    checks: list[tuple[str, Callable[[], str], bool]] = [
        ("python", _python, False),
        ("rooms", _rooms, False),
        ("local model", _local_model, True),
        ("embedder quality", lambda: _embedder("quality"), True),
        ("embedder fast", lambda: _embedder("fast"), True),
        ("home", _home, True),
        ("versions", _versions, True),
        ("disk", _disk, False),
    ]
    return [_attempt(name, check, optional) for name, check, optional in checks]


def _attempt(name: str, check: Callable[[], str], optional: bool) -> Finding:
    try:
        return Finding(name, True, check(), optional=optional)
    except EvolveError as error:
        message, _, fix = str(error).partition("\n  fix: ")
        return Finding(name, False, message, fix, optional)


def _python() -> str:
    return sys.version.split()[0]


def _rooms() -> str:
    from evolve.cli.rooms import ROOMS, check_rooms

    check_rooms()
    return f"{', '.join(ROOMS)} are ours"


def _local_model() -> str:
    from evolve.models import ModelSettings, open_model

    return open_model(ModelSettings(model="local:smollm2-135m"), environment={}).identity


def _embedder(kind: str) -> str:
    from evolve.embed import open_embedder

    return str(open_embedder(kind).identity)


def _home() -> str:
    from evolve.store import open_home

    with closing(open_home()) as home:
        facts = home.describe()
        return ", ".join(f"{name} {value}" for name, value in facts.items())


def _versions() -> str:
    """Every member tree and edge table of every version can be read back."""
    from evolve.report.references import resolve_reference
    from evolve.store import open_home

    with closing(open_home()) as home:
        count = 0
        for name in home.versions.names():
            for row in home.versions.list(name):
                found = resolve_reference(home, f"{name}@{row.number}")
                for tree in found.members:
                    home.trees.get(tree)
                if found.content is not None:
                    home.artifacts.get(found.content.edges_sha)
                count += 1
        return f"{count} versions read back whole"


def _disk() -> str:
    from evolve.core.errors import WorldError

    free = shutil.disk_usage(".").free // 2**20
    if free < MIN_FREE_MB:
        raise WorldError(f"{free} MB free here; at least {MIN_FREE_MB} MB are needed")
    return f"{free} MB free"
