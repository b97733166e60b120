"""Where the files of an embedder are, and which bytes they are."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path

from evolve.core.errors import UserError

_IDENTITY_DIGITS = 16


def find_package(package: str, *, fix: str) -> Path:
    """The folder of an installed package, which is not imported; UserError with the `fix` when it is absent."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise UserError(f"the package {package} is not installed", place="embedder", fix=fix)
    return Path(found.submodule_search_locations[0])


def hash_files(paths: Sequence[Path]) -> str:
    """16 hex digits of a SHA-256 over the contents of the files, in order."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:_IDENTITY_DIGITS]
