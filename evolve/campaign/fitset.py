"""Which train cases carry measurements and which may become demonstrations: two sets that share no unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evolve.core.cases import Case, by_unit
from evolve.core.hashing import sha256_hex


@dataclass(frozen=True)
class TrainSets:
    """`fit` is measured on: proposals are tried there and router edges come from it. `pool` feeds demonstrations."""

    fit: tuple[Case, ...]
    pool: tuple[Case, ...]


def split_train(cases: Sequence[Case], fit_cases: int) -> TrainSets:
    """Half of the units (in hash order) may be measured, the other half demonstrated.

    Of the measured half the first `fit_cases` cases are taken one per unit, then a second one per unit, and so on, so
    that a small set has many wordings. Units never stand on both sides: a demonstration that shares its wording with a
    measured case would flatter the tree that carries it.
    """
    units = by_unit(cases)
    order = sorted(units, key=lambda unit: sha256_hex(f"fit {min(c.text_key for c in units[unit])}".encode()))
    measured, shown = order[::2], order[1::2]
    fit = spread([units[u] for u in measured])[:fit_cases]
    return TrainSets(tuple(fit), tuple(c for unit in shown for c in units[unit]))


def spread(groups: Sequence[Sequence[Case]]) -> list[Case]:
    """Cases round-robin over the groups: every group's first, then every group's second, …"""
    longest = max((len(g) for g in groups), default=0)
    return [group[i] for i in range(longest) for group in groups if i < len(group)]
