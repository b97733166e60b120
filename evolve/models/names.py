"""Unknown names: the nearest known one is named, never used instead."""

from __future__ import annotations

from collections.abc import Iterable

from evolve.core.names import nearest


def describe_nearest(name: str, known: Iterable[str], also: str = "") -> str:
    """A fix for a misspelt name: the nearest known one if any is near, and all known ones."""
    names = sorted(known)
    near = nearest(name, names)
    parts = [f"did you mean {near!r}?"] if near else []
    if names:
        parts.append(f"known: {', '.join(names)}")
    if also:
        parts.append(also)
    return "; ".join(parts)
