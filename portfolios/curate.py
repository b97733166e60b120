"""Curation: the small set of trees that together solve the most cases (the curation step of FlowBank)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evolve.core.errors import UserError
from portfolios.coverage import Chosen, Pool, choose_exact, choose_greedy, subsets_of
from portfolios.edges import Floats

Method = Literal["exact", "greedy"]


@dataclass(frozen=True, slots=True)
class CurationSettings:
    """`tau` is the share of the pool's ceiling to reach; `required` trees are members whatever they add.

    Sizes up to `max_size` are tried. A size is searched exactly while subsets x cases stays within `exact_cells`,
    and by lazy greedy beyond (at least 1 − 1/e of the optimum).
    """

    tau: float = 0.96
    max_size: int = 6
    required: tuple[str, ...] = ()
    exact_cells: int = 100_000_000


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The best set of one size. `ties` counts other sets with the same coverage; only an exact search knows it."""

    size: int
    members: tuple[str, ...]
    covered: float
    coverage: float
    correlation: float
    method: Method
    ties: int | None


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one member brings: its own mean, and the coverage that is lost without it."""

    member: str
    alone: float
    adds: float
    cases_only_it_leads: int
    words: str


@dataclass(frozen=True)
class Curation:
    """The chosen members (those that add most first), and the whole coverage curve behind the choice."""

    members: tuple[str, ...]
    coverage: float
    ceiling: float
    reached: bool
    curve: tuple[CurvePoint, ...]
    contributions: tuple[Contribution, ...]
    cases: int
    missing: int
    reason: str


def curate(members: Sequence[str], scores: Floats, settings: CurationSettings | None = None) -> Curation:
    """Chooses among `members` by `scores` (cases, members) in [0, 1]; a missing (NaN) score counts 0.

    For each size the set with the highest coverage, mean over cases of the best member's score, wins; ties go to the
    lowest mean pairwise Pearson correlation, then to the order given. The smallest size that reaches `tau` times the
    coverage of all candidates is taken. UserError for an empty pool, no cases, or a required tree that is not there.
    """
    settings = settings or CurationSettings()
    _check(members, scores, settings)
    pool = Pool.of(scores, tuple(members.index(tree) for tree in settings.required))
    curve = tuple(_point(members, pool, k, settings) for k in _sizes(pool, settings))
    ceiling = pool.covered(range(pool.size)) / pool.cases
    enough = [point for point in curve if point.coverage >= settings.tau * ceiling - 1e-12]
    taken = enough[0] if enough else max(curve, key=lambda point: (round(point.coverage, 9), -point.size))
    contributions = _contributions(taken.members, scores[:, [members.index(tree) for tree in taken.members]])
    return Curation(
        members=tuple(c.member for c in contributions),
        coverage=taken.coverage,
        ceiling=ceiling,
        reached=bool(enough),
        curve=curve,
        contributions=contributions,
        cases=pool.cases,
        missing=int(np.isnan(scores).sum()),
        reason=_reason(taken, ceiling, bool(enough), settings),
    )


def _check(members: Sequence[str], scores: Floats, settings: CurationSettings) -> None:
    if not members or scores.shape[0] == 0 or scores.shape[1] != len(members):
        raise UserError(
            f"nothing to curate: {len(members)} candidates with a score table of shape {scores.shape}",
            fix="evaluate at least one candidate on at least one train case",
        )
    for tree in settings.required:
        if tree not in members:
            raise UserError(f"the required member {tree} is not among the candidates", fix="evaluate it first")
    if not 0.0 < settings.tau <= 1.0 or settings.max_size < 1:
        raise UserError(
            f"tau {settings.tau} and max_size {settings.max_size} are out of range",
            place="curation",
            fix="0 < tau <= 1 and max_size >= 1",
        )
    if len(settings.required) > settings.max_size:
        raise UserError(
            f"{len(settings.required)} required members exceed max_size {settings.max_size}",
            place="curation",
            fix="raise max_size or require fewer",
        )


def _sizes(pool: Pool, settings: CurationSettings) -> range:
    return range(max(1, len(pool.required)), min(pool.size, settings.max_size) + 1)


def _point(members: Sequence[str], pool: Pool, size: int, settings: CurationSettings) -> CurvePoint:
    exact = subsets_of(pool, size) * max(pool.cases, 32) <= settings.exact_cells
    chosen: Chosen = choose_exact(pool, size) if exact else choose_greedy(pool, size)
    return CurvePoint(
        size=size,
        members=tuple(members[j] for j in chosen.columns),
        covered=pool.covered(chosen.columns),
        coverage=pool.covered(chosen.columns) / pool.cases,
        correlation=pool.correlation(chosen.columns),
        method="exact" if exact else "greedy",
        ties=chosen.ties,
    )


def _contributions(members: Sequence[str], scores: Floats) -> tuple[Contribution, ...]:
    table = np.nan_to_num(scores, nan=0.0)
    found = [_contribution(member, table, j) for j, member in enumerate(members)]
    return tuple(sorted(found, key=lambda c: (-round(c.adds, 9), -round(c.alone, 9), c.member)))


def _contribution(member: str, table: Floats, column: int) -> Contribution:
    own = table[:, column]
    others = np.delete(table, column, axis=1)
    rest = others.max(axis=1) if others.shape[1] else np.zeros(len(table))
    lead = np.maximum(own - rest, 0.0)
    cases, adds = int((lead > 1e-9).sum()), float(lead.mean())
    words = "adds no coverage of its own: some other member does as well on every case"
    if cases:
        where = f"on {cases} of {len(table)} cases it does better than every other member"
        words = f"adds {100 * adds:.1f} points of coverage: {where}"
    return Contribution(member, float(own.mean()), adds, cases, words)


def _reason(taken: CurvePoint, ceiling: float, reached: bool, settings: CurationSettings) -> str:
    share = taken.coverage / ceiling if ceiling else 1.0
    covered = f"{taken.size} of the candidates cover {100 * taken.coverage:.1f} points"
    head = f"{covered}, {100 * share:.1f} % of what all together do"
    if reached:
        return f"{head}: the smallest set that reaches {100 * settings.tau:g} %"
    return f"{head}: no set of up to {settings.max_size} reaches {100 * settings.tau:g} %, so the best one is taken"
