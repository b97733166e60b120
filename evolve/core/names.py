"""The known word that a misspelt one most probably means: named in errors, never used instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """The most similar of `known`, or "" when none is as similar as `cutoff` (0 to 1)."""
    hits = difflib.get_close_matches(word, list(known), n=1, cutoff=cutoff)
    return hits[0] if hits else ""
