"""Nearest-name hints for misspelt words."""

from __future__ import annotations

from collections.abc import Collection

from evolve.core.names import nearest


def nearest_hint(word: str, known: Collection[str]) -> str:
    """A sentence that names the nearest known word, or lists what there is."""
    near = nearest(word, known)
    if near:
        return f"did you mean {near!r}?"
    listed = ", ".join(sorted(known)[:12])
    return f"known: {listed}" if listed else "there are none"
