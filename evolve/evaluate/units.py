"""Statistical units: paired differences of two scorecards, and the one order in which they are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from evolve.core.cases import Case, by_unit
from evolve.core.hashing import sha256_hex
from evolve.core.scores import Result, Scorecard
from evolve.core.traces import RunStatus

MEASURES = ("usd", "tokens", "seconds")


@dataclass(frozen=True, slots=True)
class Reading:
    """Challenger minus baseline, in [-1, 1], read against (`worst`) and for (`best`) the challenger.

    They are equal when nothing is missing. Whatever the missing scores are, the true difference lies between them.
    """

    worst: float
    best: float


@dataclass(frozen=True)
class PairedUnit:
    """One unit: a case (mean over its repetitions), or all cases of one group.

    `baseline` and `challenger` are means in [0, 1], None where a score is missing. `partial` narrows the reading when
    only some of a unit's scores are missing. `slices` maps "tag=value" to the reading of the cases with that tag.
    `measures` maps "usd", "tokens" and "seconds" to (baseline, challenger) means per case; the unknown is not there.
    """

    id: str
    baseline: float | None
    challenger: float | None
    cases: int = 1
    partial: Reading | None = None
    slices: Mapping[str, Reading] = field(default_factory=dict)
    measures: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def difference(self) -> float | None:
        """Challenger minus baseline; None when either is missing."""
        if self.baseline is None or self.challenger is None:
            return None
        return self.challenger - self.baseline

    @cached_property
    def reading(self) -> Reading:
        """A missing challenger counts 0 at worst and 1 at best, a missing baseline the other way round."""
        if self.difference is not None:
            return Reading(self.difference, self.difference)
        if self.partial is not None:
            return self.partial
        low, high = (0.0, 1.0) if self.challenger is None else (self.challenger, self.challenger)
        base_low, base_high = (0.0, 1.0) if self.baseline is None else (self.baseline, self.baseline)
        return Reading(low - base_high, high - base_low)


def sealed_order(ids: Iterable[str], seed_text: str) -> list[str]:
    """The ids in a fixed shuffle that depends on `seed_text` and on the ids alone, never on their given order."""
    return sorted(ids, key=lambda unit: (sha256_hex(f"{seed_text}\n{unit}".encode("utf-8", "surrogatepass")), unit))


def pair_units(cases: Sequence[Case], baseline: Scorecard, challenger: Scorecard) -> tuple[PairedUnit, ...]:
    """The paired units of `cases`, in the order in which `cases` first names them."""
    base, chal = _by_case(baseline), _by_case(challenger)
    return tuple(_unit(unit, group, base, chal) for unit, group in by_unit(cases).items())


def count_slices(cases: Sequence[Case]) -> dict[str, int]:
    """How many units have at least one case with each "tag=value"."""
    units: dict[str, set[str]] = {}
    for case in cases:
        for tag, value in case.tags.items():
            units.setdefault(f"{tag}={value}", set()).add(case.unit)
    return {name: len(found) for name, found in units.items()}


_Runs = Mapping[str, Mapping[int, Result]]


@dataclass(frozen=True, slots=True)
class _Span:
    """A mean known only to lie in [low, high]."""

    low: float
    high: float

    @property
    def known(self) -> float | None:
        return self.low if self.low == self.high else None


def _by_case(card: Scorecard) -> _Runs:
    runs: dict[str, dict[int, Result]] = {}
    for (case_id, repetition), result in card.results.items():
        runs.setdefault(case_id, {})[repetition] = result
    return runs


def _unit(unit: str, cases: Sequence[Case], base: _Runs, chal: _Runs) -> PairedUnit:
    pairs = [(_case_span(c, base, chal), _case_span(c, chal, base)) for c in cases]
    left, right = _mean([b for b, _ in pairs]), _mean([c for _, c in pairs])
    tagged: dict[str, list[tuple[_Span, _Span]]] = {}
    for case, pair in zip(cases, pairs, strict=True):
        for tag, value in case.tags.items():
            tagged.setdefault(f"{tag}={value}", []).append(pair)
    return PairedUnit(
        id=unit,
        baseline=left.known,
        challenger=right.known,
        cases=len(cases),
        partial=_reading(left, right),
        slices={name: _reading(_mean([b for b, _ in p]), _mean([c for _, c in p])) for name, p in tagged.items()},
        measures=_measures([base.get(c.id, {}) for c in cases], [chal.get(c.id, {}) for c in cases]),
    )


def _reading(base: _Span, chal: _Span) -> Reading:
    return Reading(chal.low - base.high, chal.high - base.low)


def _mean(spans: Sequence[_Span]) -> _Span:
    return _Span(sum(s.low for s in spans) / len(spans), sum(s.high for s in spans) / len(spans))


def _case_span(case: Case, own: _Runs, other: _Runs) -> _Span:
    """Mean over every repetition that either side has: one that this side lacks is missing."""
    runs = own.get(case.id, {})
    repetitions = sorted(runs.keys() | other.get(case.id, {}).keys()) or [0]
    values = [runs[r].value if r in runs else None for r in repetitions]
    return _mean([_Span(0.0, 1.0) if v is None else _Span(v, v) for v in values])


_Repetitions = Mapping[int, Result]


def _measures(base: Sequence[_Repetitions], chal: Sequence[_Repetitions]) -> dict[str, tuple[float, float]]:
    measures = {}
    for name in MEASURES:
        left, right = _mean_measure(name, base), _mean_measure(name, chal)
        if left is not None and right is not None:
            measures[name] = (left, right)
    return measures


def _mean_measure(name: str, cases: Sequence[_Repetitions]) -> float | None:
    """Mean per case; None when a run is missing or, for dollars, a call has no price."""
    means = []
    for runs in cases:
        results = list(runs.values())
        if not results or any(r.status is RunStatus.WORLD_FAULT for r in results):
            return None
        if name == "usd" and any(r.unpriced_calls for r in results):
            return None
        means.append(sum(float(getattr(r, name)) for r in results) / len(results))
    return sum(means) / len(means)
