"""What a model role's calls are for: answering, improving, or grading."""

from __future__ import annotations

from typing import Literal

Purpose = Literal["agent", "optimiser", "judge"]

_OPTIMISERS = frozenset({"proposer", "diagnosis", "developer"})
_JUDGES = frozenset({"judge"})


def purpose_of(role: str) -> Purpose:
    """`optimiser` for roles that improve harnesses, `judge` for those that grade, else `agent`."""
    if role in _OPTIMISERS:
        return "optimiser"
    return "judge" if role in _JUDGES else "agent"
