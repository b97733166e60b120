"""Guards pass on proof, refuse on harm, stay open otherwise, and say so when they are off."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from evolve.evaluate.gate import GatePlan, GateTest
from evolve.evaluate.guards import Guard, GuardSettings
from evolve.evaluate.units import PairedUnit, Reading

SLICE = GuardSettings(slice="lang=de", margin=0.1)
TOKENS = GuardSettings(measure="tokens", margin=0.2, cap=1000)


def sliced(index: int, difference: float, in_slice: float | None) -> PairedUnit:
    slices = {} if in_slice is None else {"lang=de": Reading(in_slice, in_slice)}
    return PairedUnit(f"c{index}", max(0.0, -difference), max(0.0, difference), slices=slices)


def costing(index: int, base: float, chal: float, measure: str = "tokens") -> PairedUnit:
    return PairedUnit(f"c{index}", 0.0, float(index % 3 == 0), measures={measure: (base, chal)})


def test_a_promotion_needs_the_proof_and_every_guard() -> None:
    test = GateTest(GatePlan(alpha=0.05, horizon=200, guards=(SLICE,)))
    test.observe_many([sliced(i, float(i % 2 == 0), 0.0) for i in range(200)])
    verdict = test.verdict("a", "b")
    assert verdict.decision == "promote"
    (guard,) = verdict.guards
    assert guard.state == "passed"
    assert guard.low is not None
    assert guard.low > -0.1
    alone = GateTest(GatePlan(alpha=0.05, horizon=200))
    alone.observe_many([sliced(i, float(i % 2 == 0), 0.0) for i in range(200)])
    assert alone.state.looked < test.state.looked


def test_harm_in_a_slice_rejects_a_better_challenger() -> None:
    test = GateTest(GatePlan(alpha=0.05, horizon=300, min_units=40, guards=(SLICE,)))
    test.observe_many([sliced(i, -1.0 if i % 4 == 0 else 1.0, -1.0 if i % 4 == 0 else None) for i in range(300)])
    verdict = test.verdict("a", "b")
    assert verdict.decision == "reject"
    assert "score[lang=de]" in verdict.reason
    assert verdict.gain_low > 0.0
    assert verdict.guards[0].high is not None
    assert verdict.guards[0].high < -0.1


def test_an_open_guard_at_the_horizon_is_indecisive() -> None:
    plan = GatePlan(alpha=0.05, horizon=60, guards=(SLICE,), slice_units={"lang=de": 6})
    test = GateTest(plan)
    test.observe_many([sliced(i, 1.0, 0.0 if i % 10 == 0 else None) for i in range(60)])
    verdict = test.verdict("a", "b")
    assert (verdict.decision, verdict.looked) == ("indecisive", 60)
    assert verdict.guards[0].state == "open"
    assert "still open" in verdict.reason


def test_harm_only_does_not_wait_and_says_what_it_did_not_test() -> None:
    guard = GuardSettings(slice="lang=de", margin=0.1, mode="harm_only")
    test = GateTest(GatePlan(alpha=0.05, horizon=60, guards=(guard,), slice_units={"lang=de": 6}))
    test.observe_many([sliced(i, 1.0, 0.0 if i % 10 == 0 else None) for i in range(60)])
    verdict = test.verdict("a", "b")
    assert verdict.decision == "promote"
    assert any("harm_only" in note and "not tested" in note for note in verdict.notes)


def test_a_slice_without_units_is_off_and_noted() -> None:
    test = GateTest(GatePlan(alpha=0.05, horizon=60, guards=(SLICE,), slice_units={"lang=fr": 60}))
    test.observe_many([sliced(i, 1.0, None) for i in range(60)])
    verdict = test.verdict("a", "b")
    assert verdict.decision == "promote"
    assert verdict.guards[0].state == "off"
    assert "guard score[lang=de] is off: no heldout case has lang=de" in verdict.notes


def test_a_slice_that_is_expected_but_never_seen_is_not_passed() -> None:
    test = GateTest(GatePlan(alpha=0.05, horizon=30, guards=(SLICE,)))
    test.observe_many([sliced(i, 1.0, None) for i in range(30)])
    assert test.verdict("a", "b").decision == "indecisive"


def test_equal_costs_pass_and_double_costs_are_harm() -> None:
    rng = np.random.default_rng(1)
    for factor, state in ((1.0, "passed"), (2.0, "harmed")):
        guard = Guard(TOKENS, 0.05, 300, 0.3)
        for i in range(300):
            base = float(rng.uniform(200, 400))
            guard.observe(costing(i, base, base * factor))
        outcome = guard.outcome()
        assert outcome.state == state
        assert outcome.low is not None
        assert outcome.high is not None
        assert outcome.low <= 1 - factor <= outcome.high


def test_a_rare_explosion_of_cost_counts_up_to_the_cap() -> None:
    guard = Guard(TOKENS, 0.05, 200, 0.3)
    for i in range(200):
        guard.observe(costing(i, 100.0, 1e9 if i % 5 == 0 else 100.0))
    assert guard.state == "harmed"


def test_unknown_costs_count_against_the_challenger_and_never_show_harm() -> None:
    guard = Guard(GuardSettings(measure="usd", margin=0.2, cap=1.0), 0.05, 100, 0.3)
    for i in range(100):
        guard.observe(costing(i, 0.5, 0.4, "usd") if i % 2 else PairedUnit(f"c{i}", 0.0, 0.0))
    assert guard.state == "open"
    assert "50 units not known" in guard.outcome().reason


@pytest.mark.parametrize(("units", "words"), [(None, "not known"), ((0.0, 0.0), "both sides use 0")])
def test_costs_that_cannot_be_compared_switch_the_guard_off_loudly(
    units: tuple[float, float] | None, words: str
) -> None:
    guard = GuardSettings(measure="usd", margin=0.2, cap=1.0)
    measures = {} if units is None else {"usd": units}
    test = GateTest(GatePlan(alpha=0.05, horizon=60, guards=(guard,)))
    test.observe_many([PairedUnit(f"c{i}", 0.0, 1.0, measures=measures) for i in range(60)])
    verdict = test.verdict("a", "b")
    assert verdict.guards[0].state == "off"
    assert any(words in note for note in verdict.notes)


def test_a_challenger_at_the_margin_passes_at_most_alpha_of_the_time() -> None:
    rng = np.random.default_rng(6)
    passed = 0
    for _ in range(200):
        guard = Guard(GuardSettings(slice="lang=de", margin=0.2), 0.1, 60, 0.3)
        for i, d in enumerate(rng.choice([-1.0, 0.0, 1.0], size=60, p=[0.3, 0.6, 0.1])):
            guard.observe(sliced(i, 0.0, float(d)))
        passed += guard.state == "passed"
    assert passed / 200 <= 0.1 + 3 * math.sqrt(0.1 * 0.9 / 200)


@pytest.mark.parametrize(
    "wrong",
    [
        {"margin": 0.1},
        {"slice": "de", "margin": 0.1},
        {"slice": "lang=de", "margin": 0},
        {"slice": "lang=de", "margin": 1.5},
        {"slice": "lang=de", "margin": 0.1, "cap": 3},
        {"measure": "usd", "margin": 0.1},
        {"measure": "usd", "margin": 0.1, "cap": 1, "slice": "lang=de"},
        {"measure": "usd", "margin": 0.1, "cap": 1, "colour": "red"},
    ],
)
def test_meaningless_guards_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        GuardSettings.model_validate(wrong)
