"""Unknown names: the nearest known one is named, never used instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def describe_nearest(name: str, known: Iterable[str], also: str = "") -> str:
    """A fix for a misspelt name: the nearest known one if any is near, and all known ones."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    parts = [f"did you mean {near[0]!r}?"] if near else []
    if names:
        parts.append(f"known: {', '.join(names)}")
    if also:
        parts.append(also)
    return "; ".join(parts)
