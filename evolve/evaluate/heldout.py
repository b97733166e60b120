"""The seal on heldout cases, and the gate's walk through them.

Cases leave the seal in one order fixed by their texts, only for a look that is written to the ledger first, and only
after the error budget of every sealed case has been reserved. Per-case results go to the store under the heldout split,
which reports refuse to open; what comes out of here is a Verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from evolve.core.cases import Case, Dataset, Split, by_unit
from evolve.core.errors import HeldoutSealed, UserError
from evolve.core.scores import Scorecard
from evolve.core.verdicts import Verdict
from evolve.evaluate.arms import Arm
from evolve.evaluate.gate import GatePlan, GateTest
from evolve.evaluate.units import count_slices, pair_units, sealed_order
from evolve.store.alpha import AlphaStore
from evolve.store.ledger import Ledger


class SealedCases:
    """Heldout cases grouped into units, in sealed order. They can be counted by anyone and read by the gate alone.

    Of each unit at most `per_unit` cases are used, the first by the hashes of their texts: cases of one group are one
    observation, so more of them cost more and tell little.
    """

    def __init__(self, cases: Sequence[Case], per_unit: int | None = None) -> None:
        units = by_unit(cases)
        texts = {unit: "".join(sorted(c.text_key for c in members)) for unit, members in units.items()}
        order = sealed_order(sorted(texts.values()), "heldout")
        unit_of = {text: unit for unit, text in texts.items()}
        whole = [sorted(units[unit_of[text]], key=lambda c: c.text_key) for text in order]
        self._units = [tuple(unit[:per_unit]) for unit in whole]
        self._all = tuple(cases)
        self.text_keys: tuple[str, ...] = tuple(sorted(c.text_key for c in cases))
        self.cases = sum(len(unit) for unit in self._units)

    def __repr__(self) -> str:
        return f"SealedCases({self.cases} cases in {len(self._units)} units)"

    def __iter__(self) -> None:
        raise HeldoutSealed("heldout cases are read through a look of the gate, never listed")

    @property
    def units(self) -> int:
        """How many units are sealed."""
        return len(self._units)

    def first(self, cases: int | None) -> int:
        """How many units, in sealed order, hold at most `cases` cases (all units when None)."""
        if cases is None:
            return len(self._units)
        total = 0
        for count, unit in enumerate(self._units):
            total += len(unit)
            if total > cases:
                return count
        return len(self._units)

    def look(self, start: int, stop: int, permit: LookPermit) -> list[Case]:
        """The cases of units [start, stop), after the look is in the ledger."""
        permit.record(start, stop)
        return [case for unit in self._units[start:stop] for case in unit]

    def slice_units(self, stop: int) -> dict[str, int]:
        """How many of the first `stop` units hold a case with each "tag=value": counts alone."""
        return count_slices([case for unit in self._units[:stop] for case in unit])

    def for_leak_check(self) -> list[Case]:
        """The cases for the leak check alone, which compares texts and never shows them."""
        return list(self._all)

    def cases_in(self, stop: int) -> int:
        """How many cases the first `stop` units hold."""
        return sum(len(unit) for unit in self._units[:stop])


def seal(dataset: Dataset, per_unit: int | None = None) -> tuple[Dataset, SealedCases]:
    """The dataset without its heldout cases, and those cases under seal."""
    visible = {s: dataset[s] for s in (Split.TRAIN, Split.DEV)}
    return replace(dataset, splits=visible), SealedCases(dataset[Split.HELDOUT], per_unit)


@dataclass(frozen=True)
class LookPermit:
    """Who looks and why; every look of it is one ledger row."""

    ledger: Ledger
    campaign: str
    purpose: str

    def record(self, start: int, stop: int) -> None:
        """Writes the look before any case is handed out."""
        self.ledger.append(
            self.campaign,
            "heldout_look",
            self.purpose,
            {"units": [start, stop]},
            key=f"look/{self.purpose}/{start}-{stop}",
        )


def spendable_alpha(alpha: AlphaStore, sealed: SealedCases, budget: float, share: float) -> float:
    """What one campaign may spend now: `share` of what the most-used sealed case has left of `budget`."""
    spent = alpha.spent(sealed.text_keys)
    left = budget - max(spent.values(), default=0.0)
    return max(0.0, left * share)


def reserve_alpha(alpha: AlphaStore, sealed: SealedCases, budget: float, share: float, campaign: str) -> float:
    """Spends this campaign's error level on every sealed case, once, before the first look."""
    level = spendable_alpha(alpha, sealed, budget, share)
    if level < 1e-6 and alpha.reserved(f"gate/{campaign}") is None:
        raise UserError(
            "the error budget of these heldout cases is used up",
            place="data",
            fix="bring fresh cases in with `evolve data renew`: cases never looked at have their whole budget",
        )
    return alpha.reserve(sealed.text_keys, level, budget=budget, campaign=campaign, key=f"gate/{campaign}")


async def run_gate(
    sealed: SealedCases, baseline: Arm, challenger: Arm, plan: GatePlan, permit: LookPermit, batch: int
) -> Verdict:
    """Looks at sealed units in order, `batch` at a time, until the test decides or the horizon is reached."""
    test = GateTest(plan)
    start = 0
    while start < plan.horizon and not test.state.decided:
        stop = min(start + batch, plan.horizon)
        cases = sealed.look(start, stop, permit)
        base: Scorecard = await baseline.run(cases)
        chal: Scorecard = await challenger.run(cases)
        test.observe_many(pair_units(cases, base, chal))
        start = stop
    return test.verdict(baseline.label, challenger.label)
