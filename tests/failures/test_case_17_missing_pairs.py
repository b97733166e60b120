"""Case 17: missing pairs are counted against the challenger, so crashing or hanging on hard cases gains nothing."""

from dataclasses import replace

import pytest

from evolve.core.cases import Case
from evolve.core.scores import Result, Score, Scorecard
from evolve.core.traces import RunStatus
from evolve.core.verdicts import Verdict
from evolve.evaluate.gate import GatePlan, GateTest
from evolve.evaluate.units import PairedUnit, pair_units

WON = PairedUnit("won", 0.0, 1.0)
HARD = PairedUnit("hard", 1.0, None)
DEAD = PairedUnit("dead", None, None)


def verdict_of(units: list[PairedUnit], horizon: int = 60) -> Verdict:
    test = GateTest(GatePlan(alpha=0.05, horizon=horizon))
    test.observe_many([replace(u, id=f"{u.id}{i}") for i, u in enumerate(units)])
    return test.verdict("a", "b")


def test_three_of_twenty_missing_still_promote_when_the_gain_survives_them() -> None:
    verdict = verdict_of([DEAD, *[WON] * 6, DEAD, *[WON] * 6, DEAD, *[WON] * 5], horizon=20)
    assert verdict.decision == "promote"
    assert verdict.missing >= 1
    assert verdict.gain == 1.0
    assert any("missing" in note and "against the challenger" in note for note in verdict.notes)


@pytest.mark.parametrize("missing", [HARD, DEAD])
def test_skipping_what_it_would_lose_is_not_a_gain(missing: PairedUnit) -> None:
    """Every complete pair is a win, but as many pairs are missing: not promoted, whatever the mean of the rest says."""
    verdict = verdict_of([WON, missing] * 30)
    assert verdict.decision != "promote"
    assert verdict.gain == 1.0
    assert verdict.gain_low <= 0.0


def test_missing_pairs_never_show_harm() -> None:
    verdict = verdict_of([DEAD] * 60)
    assert verdict.decision == "indecisive"
    assert (verdict.gain, verdict.gain_high, verdict.missing) == (0.0, 1.0, verdict.looked)


def test_a_harness_fault_scores_zero_and_a_world_fault_is_missing() -> None:
    cases = [Case("crashed", "1"), Case("unreachable", "2")]
    fine = {(c.id, 0): Result(c.id, 0, RunStatus.FINISHED, Score.graded(1.0)) for c in cases}
    faults = {
        ("crashed", 0): Result("crashed", 0, RunStatus.HARNESS_FAULT, Score.ungraded("time-out")),
        ("unreachable", 0): Result("unreachable", 0, RunStatus.WORLD_FAULT, Score.ungraded("503")),
    }
    crashed, unreachable = pair_units(cases, Scorecard("a", fine), Scorecard("b", faults))
    assert crashed.difference == -1.0
    assert unreachable.difference is None
    assert unreachable.reading.worst == -1.0
