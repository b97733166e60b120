"""Splits cases into train, dev and heldout, so that nothing equal and nothing of one group stands on both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from evolve.core.cases import Case, Dataset, Split
from evolve.core.errors import UserError
from evolve.core.hashing import sha256_hex
from evolve.core.names import nearest
from evolve.data.load import Origin
from evolve.data.settings import SplitSettings
from evolve.data.units import Unit, share_key, units_of

NOWHERE = Origin("")


def split_cases(
    cases: Sequence[Case],
    settings: SplitSettings,
    origins: Mapping[str, Origin] | None = None,
    *,
    name: str = "",
) -> Dataset:
    """The cases in three splits, in file order within each; the same cases and settings give the same splits.

    Drawn splits depend on content and seed, not on ids or order, and a few added cases move few others. `origins` (from
    a LoadReport) name lines in messages and carry the values of `settings.column`.
    UserError for one id twice, a split that stays empty, splits of a column that overlap, and an absent tag.
    """
    _refuse_equal_ids(cases)
    origins = origins or {}
    units = units_of(cases)
    chosen = _by_column(units, settings, origins) if settings.column is not None else _drawn(units, settings)
    splits = {split: tuple(case for case in cases if chosen[case.id] is split) for split in Split}
    for split, members in splits.items():
        if not members:
            raise _empty_split(split, len(cases), units, settings)
    return Dataset(name, splits)


def _refuse_equal_ids(cases: Sequence[Case]) -> None:
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            raise UserError(f"two cases have the id {case.id!r}", place="data.cases", fix="give each an id of its own")
        seen.add(case.id)


def _empty_split(split: Split, count: int, units: Sequence[Unit], settings: SplitSettings) -> UserError:
    message = f"{split.value} would hold 0 of {count} cases"
    if settings.column is not None:
        return UserError(message, place=f"data.split.column: {settings.column}", fix="mark some cases with this split")
    shares = settings.shares.by_split()
    fix = (
        f"its share is {shares[split]:g} of {len(units)} separate units (equal texts and groups stay together); "
        f"have at least {int(1 / min(shares.values())) + 1} units of similar size, or raise the share"
    )
    return UserError(message, place="data.split", fix=fix)


def _drawn(units: Sequence[Unit], settings: SplitSettings) -> dict[str, Split]:
    """Each stratum in the order of a seeded hash, cut at the shares. The hash of its name shifts the cut of a stratum,
    so that tags with one or two cases do not all land in the same split."""
    strata: dict[str, list[Unit]] = {}
    for unit in units:
        strata.setdefault(_stratum(unit, settings.stratify_by), []).append(unit)
    if settings.stratify_by is not None:
        _check_tag(units, settings.stratify_by)
    chosen: dict[str, Split] = {}
    for stratum, members in strata.items():
        shift = _fraction(settings.seed, "stratum", stratum) if len(strata) > 1 else 0.0
        chosen |= _cut(sorted(members, key=lambda u: _fraction(settings.seed, "unit", u.key)), settings, shift)
    return chosen


def _cut(units: Sequence[Unit], settings: SplitSettings, shift: float) -> dict[str, Split]:
    """Walks the ordered units once round a circle of length 1, from `shift`; the middle of a unit decides its split."""
    total = sum(len(unit.cases) for unit in units)
    shares = settings.shares.by_split()
    bounds = list(zip(accumulate(shares.values()), shares, strict=True))
    chosen: dict[str, Split] = {}
    before = 0
    for unit in units:
        middle = (shift + (before + len(unit.cases) / 2) / total) % 1.0
        split = next((split for bound, split in bounds if middle < bound), Split.HELDOUT)
        chosen |= {case.id: split for case in unit.cases}
        before += len(unit.cases)
    return chosen


def _fraction(seed: int, *parts: str) -> float:
    return int(sha256_hex(repr((seed, *parts)).encode("utf-8", "surrogatepass"))[:13], 16) / 16**13


def _stratum(unit: Unit, tag: str | None) -> str:
    """The commonest value of the tag in the unit, the smallest of equals."""
    if tag is None:
        return ""
    values = [case.tags.get(tag, "") for case in unit.cases]
    return min(set(values), key=lambda value: (-values.count(value), value))


def _check_tag(units: Sequence[Unit], tag: str) -> None:
    present = sorted({name for unit in units for case in unit.cases for name in case.tags})
    if tag not in present:
        near = nearest(tag, present)
        fix = f"did you mean {near!r}?" if near else f"tags of these cases: {', '.join(present) or 'none'}"
        raise UserError(f"no case has the tag {tag!r}", place="data.split.stratify_by", fix=fix)


def _by_column(units: Sequence[Unit], settings: SplitSettings, origins: Mapping[str, Origin]) -> dict[str, Split]:
    chosen = {case.id: _named_split(case, settings, origins) for unit in units for case in unit.cases}
    for unit in units:
        for case in unit.cases[1:]:
            first = unit.cases[0]
            if chosen[case.id] is not chosen[first.id]:
                raise _overlap(first, case, chosen, origins)
    return chosen


def _named_split(case: Case, settings: SplitSettings, origins: Mapping[str, Origin]) -> Split:
    origin = origins.get(case.id, NOWHERE)
    names = [split.value for split in Split]
    if origin.split in names:
        return Split(origin.split)
    near = nearest(origin.split, names, cutoff=0.6)
    guess = f"did you mean {near!r}? " if near else ""
    raise UserError(
        f"case {case.id!r} has the split {origin.split!r}",
        place=origin.place or f"data.split.column: {settings.column}",
        fix=f"{guess}one of {', '.join(names)} in column {settings.column!r}",
    )


def _overlap(first: Case, other: Case, chosen: Mapping[str, Split], origins: Mapping[str, Origin]) -> UserError:
    places = [origins.get(case.id, NOWHERE).place or f"case {case.id!r}" for case in (first, other)]
    return UserError(
        f"{places[0]} ({chosen[first.id].value}) and {places[1]} ({chosen[other.id].value}) {share_key(first, other)}",
        place=places[1],
        fix="put both in one split, or remove one",
    )
