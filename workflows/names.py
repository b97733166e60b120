"""Nearest-name hints for misspelt words."""

from __future__ import annotations

import difflib
from collections.abc import Collection


def nearest_hint(word: str, known: Collection[str]) -> str:
    """A sentence that names the nearest known word, or lists what there is."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]!r}?"
    listed = ", ".join(sorted(known)[:12])
    return f"known: {listed}" if listed else "there are none"
