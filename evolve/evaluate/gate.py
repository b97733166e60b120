"""The gate: reads paired units in sealed order and says promote, reject or indecisive. Pure and deterministic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from evolve.core.verdicts import Decision3, GuardOutcome, Verdict
from evolve.evaluate.betting import BetRecord
from evolve.evaluate.guards import Guard
from evolve.evaluate.plan import GatePlan, units_needed
from evolve.evaluate.sequential import Outcome, PrimaryTest
from evolve.evaluate.units import PairedUnit

__all__ = ["GatePlan", "GateState", "GateTest"]


@dataclass(frozen=True, slots=True)
class GateState:
    """Where the test stands. `decision` is None until `decided`; `log_e` is the log of the wealth against "no gain"."""

    decided: bool = False
    decision: Decision3 | None = None
    reason: str = "no unit has been looked at"
    looked: int = 0
    log_e: float = 0.0


@dataclass(slots=True)
class Tally:
    """Counts and sums over the units looked at; means are over complete pairs."""

    looked: int = 0
    cases: int = 0
    wins: int = 0
    losses: int = 0
    ties: int = 0
    baseline: float = 0.0
    challenger: float = 0.0
    worst: float = 0.0

    def add(self, unit: PairedUnit) -> None:
        """Counts one unit."""
        self.looked += 1
        self.cases += unit.cases
        self.worst += unit.reading.worst
        if unit.baseline is None or unit.challenger is None:
            return
        self.wins += unit.challenger > unit.baseline
        self.losses += unit.challenger < unit.baseline
        self.ties += unit.challenger == unit.baseline
        self.baseline += unit.baseline
        self.challenger += unit.challenger

    @property
    def complete(self) -> int:
        """Pairs with both scores."""
        return self.wins + self.losses + self.ties

    @property
    def missing(self) -> int:
        """Pairs without one or both."""
        return self.looked - self.complete

    def mean(self, total: float) -> float:
        """A sum as a mean over complete pairs, 0 when there is none."""
        return total / self.complete if self.complete else 0.0

    @property
    def gain(self) -> float:
        """Mean difference over complete pairs."""
        return self.mean(self.challenger) - self.mean(self.baseline)


class GateTest:
    """One sealed comparison.

    Promote: the gain is proven above 0 with every missing pair counted against the challenger, and no guard is open.
    Reject: the gain is proven below `min_gain` with every missing pair counted for it (so that missing pairs never show
    harm), or a guard shows harm. Indecisive: the horizon is reached, or a promotion by then has become improbable.
    Units must come in sealed order; those offered after the decision are not read, so batch sizes change nothing.
    """

    def __init__(self, plan: GatePlan) -> None:
        self.plan = plan
        self.state = GateState()
        self._tally = Tally()
        self._primary = PrimaryTest(plan)
        self._low = BetRecord(plan.bettor, 0.0)
        self._high = BetRecord(plan.bettor, -plan.min_gain)
        self._guards = [Guard(g, plan.alpha, plan.guard_units(g), plan.discordance) for g in plan.guards]

    def observe(self, unit: PairedUnit) -> GateState:
        """Reads the next unit in sealed order."""
        if self.state.decided:
            return self.state
        reading = unit.reading
        self._primary.observe(np.array([reading.worst]), np.array([reading.best]))
        self._low.add(reading.worst, 1.0, self._primary.gain.last_stakes[:, 0])
        self._high.add(-reading.best, 1.0, self._primary.lack.last_stakes[:, 0])
        self._tally.add(unit)
        for guard in self._guards:
            guard.observe(unit)
        decision, reason = self._decide()
        log_e = float(self._primary.gain.log_e[0])
        self.state = GateState(decision is not None, decision, reason, self._tally.looked, log_e)
        return self.state

    def observe_many(self, units: Iterable[PairedUnit]) -> GateState:
        """Reads units in sealed order until decided."""
        for unit in units:
            if self.observe(unit).decided:
                break
        return self.state

    def _decide(self) -> tuple[Decision3 | None, str]:
        looked, plan = self._tally.looked, self.plan
        harmed = [g.settings.name for g in self._guards if g.state == "harmed"]
        opened = [g.settings.name for g in self._guards if g.state == "open"]
        outcome = Outcome(int(self._primary.outcome[0]))
        if harmed and looked >= plan.first_look:
            return "reject", f"guard {', '.join(harmed)} shows harm"
        if outcome is Outcome.REFUTED:
            return "reject", self._refuted()
        if outcome is Outcome.PROVEN and not opened:
            return "promote", f"{self._seen()}: better, also with every missing pair counted against it"
        if outcome is Outcome.PROVEN and looked >= plan.horizon:
            return "indecisive", f"the gain is proven, but guard {', '.join(opened)} is still open after all units"
        if outcome is Outcome.FUTILE:
            return "indecisive", f"{self._seen()}: stopped early, the remaining units are unlikely to prove a gain"
        if outcome is Outcome.EXHAUSTED:
            return "indecisive", f"{self._seen()}: all units were looked at, and a gain is neither proven nor excluded"
        proven = outcome is Outcome.PROVEN
        waiting = f"the gain is proven, guard {', '.join(opened)} is open" if proven else "no decision yet"
        return None, f"{self._seen()}: {waiting}"

    def _seen(self) -> str:
        t = self._tally
        return f"won {t.wins}, lost {t.losses}, tied {t.ties} of {t.looked} units"

    def _refuted(self) -> str:
        high = self._gain_high()
        if high < 0.0:
            return f"{self._seen()}: worse"
        asked = f"{100 * self.plan.min_gain:g} are asked"
        return f"{self._seen()}: no useful gain, at most {100 * high:+.1f} points where {asked}"

    def _gain_high(self) -> float:
        return -self._high.bound(bool(self._primary.lack.proven[0]))

    def verdict(self, baseline: str, challenger: str) -> Verdict:
        """What was seen and decided so far; a test that was stopped before its decision is `indecisive`."""
        t, plan, state = self._tally, self.plan, self.state
        guards = tuple(g.outcome() for g in self._guards)
        decision: Decision3 = state.decision or "indecisive"
        gain_low = self._low.bound(bool(self._primary.gain.proven[0]))
        return Verdict(
            decision=decision,
            reason=state.reason if state.decided else f"the run stopped before a decision; {state.reason}",
            baseline=baseline,
            challenger=challenger,
            alpha=plan.alpha,
            gain=t.gain,
            gain_low=gain_low,
            gain_high=self._gain_high(),
            wins=t.wins,
            losses=t.losses,
            ties=t.ties,
            missing=t.missing,
            looked=t.looked,
            horizon=plan.horizon,
            cases_looked_at=t.cases,
            cases=max(plan.cases or plan.horizon, t.cases),
            baseline_mean=t.mean(t.baseline),
            challenger_mean=t.mean(t.challenger),
            log_e=state.log_e,
            needed=self._needed(decision),
            guards=guards,
            notes=self._notes(guards),
            extra={"gain_counting_missing": t.worst / t.looked if t.looked else 0.0, "min_gain": plan.min_gain},
        )

    def _needed(self, decision: Decision3) -> int | None:
        if decision != "indecisive" or self._tally.looked == 0 or bool(self._primary.gain.proven[0]):
            return None
        worst = self._tally.worst / self._tally.looked
        return units_needed(worst, self.plan.alpha, float(self._primary.gain.variance[0]))

    def _notes(self, guards: tuple[GuardOutcome, ...]) -> tuple[str, ...]:
        notes = [f"guard {g.name} is off: {g.reason}" for g in guards if g.state == "off"]
        notes += [f"guard {g.name}: {g.reason}" for g in guards if g.mode == "harm_only" and g.state == "passed"]
        t = self._tally
        if t.missing:
            notes.append(
                f"{t.missing} of {t.looked} pairs are missing: counted against the challenger for a promotion, "
                "in its favour for a reject, and left out of the mean gain"
            )
        return tuple(notes)
