"""The seed harnesses that ship with the engine."""

from __future__ import annotations

from pathlib import Path

from evolve.core.errors import UserError
from harnesses.directory import read_harness
from workflows.names import nearest_hint

_LIBRARY = Path(__file__).parent / "library"


def library_names() -> tuple[str, ...]:
    """The seeds there are, in order."""
    return tuple(sorted(path.name for path in _LIBRARY.iterdir() if path.is_dir()))


def library_harness(name: str) -> dict[str, bytes]:
    """The tree of one seed. Raises UserError with the nearest name for an unknown one."""
    if name not in library_names():
        raise UserError(f"no seed harness {name!r}", fix=nearest_hint(name, library_names()))
    return read_harness(_LIBRARY / name)
