"""Splits that a source states: cases that stand on two sides are found, and left out on the side that is fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evolve.core.cases import Case, Split
from evolve.data.units import share_key, units_of

ORDER = {split.value: rank for rank, split in enumerate((Split.HELDOUT, Split.DEV, Split.TRAIN))}
"""What is kept first: a heldout case is worth more than a train case."""


def overlapping(cases: Sequence[Case], splits: Mapping[str, str]) -> dict[str, tuple[Case, str]]:
    """Id of each case to leave out → (the case it meets in a better kept split, how they belong together).

    `splits` holds the split of each id, one of train, dev and heldout.
    """
    found: dict[str, tuple[Case, str]] = {}
    for unit in units_of(cases):
        first = min(unit.cases, key=lambda case: ORDER[splits[case.id]])
        for case in unit.cases:
            if splits[case.id] != splits[first.id]:
                found[case.id] = (first, share_key(first, case))
    return found
