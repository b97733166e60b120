"""The gate promotes proven gains, rejects proven harm, and is indecisive otherwise; the order is the only order."""

import random

import numpy as np
import pytest

from evolve.core.cases import Case
from evolve.core.scores import Result, Score, Scorecard
from evolve.core.traces import RunStatus
from evolve.evaluate.gate import GatePlan, GateTest
from evolve.evaluate.plan import draw_differences
from evolve.evaluate.sequential import Outcome, run_campaigns
from evolve.evaluate.units import PairedUnit, Reading, count_slices, pair_units, sealed_order


def unit(name: str, difference: float) -> PairedUnit:
    return PairedUnit(name, max(0.0, -difference), max(0.0, difference))


def units_with(gain: float, count: int = 300, seed: int = 4) -> list[PairedUnit]:
    return [unit(f"c{i}", d) for i, d in enumerate(draw_differences(gain, 0.3, (count, 1), seed)[:, 0])]


def card(tree: str, values: dict[tuple[str, int], float | None]) -> Scorecard:
    results = {}
    for (case, repetition), value in values.items():
        score = Score.ungraded("no number") if value is None else Score.graded(value)
        results[(case, repetition)] = Result(case, repetition, RunStatus.FINISHED, score, tokens=10, seconds=1.0)
    return Scorecard(tree, results)


def test_a_clear_gain_is_promoted_before_the_horizon() -> None:
    test = GateTest(GatePlan(alpha=0.05, horizon=300))
    state = test.observe_many(units_with(0.3))
    verdict = test.verdict("live", "challenger")
    assert state.decision == verdict.decision == "promote"
    assert 0.0 < verdict.gain_low < 0.3 < verdict.gain_high
    assert verdict.looked < 60
    assert verdict.wins + verdict.losses + verdict.ties == verdict.looked == verdict.cases_looked_at
    assert (verdict.baseline, verdict.challenger, verdict.horizon, verdict.cases) == ("live", "challenger", 300, 300)


def test_clear_harm_is_rejected_before_the_horizon() -> None:
    test = GateTest(GatePlan(alpha=0.05, horizon=300, min_gain=0.02))
    test.observe_many(units_with(-0.3))
    verdict = test.verdict("live", "challenger")
    assert verdict.decision == "reject"
    assert verdict.gain_high < 0.02
    assert verdict.looked < 100


def test_a_gain_too_small_to_be_useful_is_rejected_as_such() -> None:
    small = [unit(f"c{i}", [1.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0][i % 10] / 2) for i in range(400)]
    test = GateTest(GatePlan(alpha=0.05, horizon=400, min_gain=0.2))
    test.observe_many(small)
    verdict = test.verdict("live", "challenger")
    assert verdict.decision == "reject"
    assert "no useful gain" in verdict.reason
    assert 0.0 <= verdict.gain_high < 0.2


def test_min_gain_does_not_change_what_is_promoted() -> None:
    for gain in (0.1, 0.15):
        looked = []
        for useful in (0.0, 0.02):
            test = GateTest(GatePlan(alpha=0.05, horizon=300, min_gain=useful))
            test.observe_many(units_with(gain, seed=9))
            looked.append((test.state.decision, test.state.looked))
        assert looked[0] == looked[1]
        assert looked[0][0] == "promote"


def test_too_few_units_are_indecisive_and_say_how_many_would_do() -> None:
    test = GateTest(GatePlan(alpha=0.05, horizon=12))
    test.observe_many([unit(f"c{i}", [1.0, 0.0, 0.0, 1.0, -1.0, 0.0][i % 6]) for i in range(12)])
    verdict = test.verdict("live", "challenger")
    assert verdict.decision == "indecisive"
    assert verdict.gain_low <= 0.0 <= verdict.gain_high
    assert verdict.needed is not None
    assert 20 < verdict.needed < 400


def test_a_hopeless_test_stops_early() -> None:
    looked = []
    for seed in range(30):
        test = GateTest(GatePlan(alpha=0.05, horizon=300))
        test.observe_many(units_with(0.0, seed=seed))
        looked.append(test.state.looked)
    assert np.mean(looked) < 240


def test_a_stopped_run_is_indecisive() -> None:
    test = GateTest(GatePlan(alpha=0.05, horizon=300))
    test.observe_many(units_with(0.1)[:5])
    verdict = test.verdict("live", "challenger")
    assert not test.state.decided
    assert verdict.decision == "indecisive"
    assert "stopped before a decision" in verdict.reason
    empty = GateTest(GatePlan(alpha=0.05, horizon=300)).verdict("live", "challenger")
    assert (empty.decision, empty.gain_low, empty.gain_high, empty.looked) == ("indecisive", -1.0, 1.0, 0)


def test_no_promotion_before_min_units() -> None:
    test = GateTest(GatePlan(alpha=0.05, horizon=100, min_units=40))
    test.observe_many([unit(f"c{i}", 1.0) for i in range(100)])
    assert (test.state.decision, test.state.looked) == ("promote", 40)


def test_batches_change_nothing_and_units_after_the_decision_are_not_read() -> None:
    verdicts = []
    for size in (1, 8, 300):
        test = GateTest(GatePlan(alpha=0.05, horizon=300))
        units = units_with(0.15)
        for start in range(0, 300, size):
            test.observe_many(units[start : start + size])
        verdicts.append(test.verdict("a", "b"))
    assert verdicts[0] == verdicts[1] == verdicts[2]


def test_one_campaign_and_many_campaigns_are_one_test() -> None:
    plan = GatePlan(alpha=0.05, horizon=120, min_gain=0.02)
    draws = draw_differences(0.1, 0.3, (120, 60), 17)
    many = run_campaigns(plan, draws)
    kinds = {
        "promote": {Outcome.PROVEN},
        "reject": {Outcome.REFUTED},
        "indecisive": {Outcome.FUTILE, Outcome.EXHAUSTED},
    }
    for column in range(60):
        test = GateTest(plan)
        test.observe_many([unit(f"c{i}", d) for i, d in enumerate(draws[:, column])])
        assert test.state.decision is not None
        assert many.outcome[column] in kinds[test.state.decision]
        assert test.state.looked == many.stopped_at[column]


def test_sealed_order_depends_on_ids_and_seed_alone() -> None:
    ids = [f"case-{i}" for i in range(50)]
    shuffled = random.Random(1).sample(ids, 50)
    assert sealed_order(ids, "s") == sealed_order(shuffled, "s") != ids
    assert sealed_order(ids, "s") != sealed_order(ids, "t")
    assert sorted(sealed_order(ids, "s")) == sorted(ids)


def test_a_unit_is_the_mean_over_repetitions() -> None:
    base = card("a", {("x", 0): 0.0, ("x", 1): 1.0, ("y", 0): 1.0, ("y", 1): 1.0})
    chal = card("b", {("x", 0): 1.0, ("x", 1): 1.0, ("y", 0): 0.0, ("y", 1): 1.0})
    first, second = pair_units([Case("y", "why"), Case("x", "ex")], base, chal)
    assert (first.id, first.difference) == ("case:y", -0.5)
    assert (second.id, second.difference) == ("case:x", 0.5)


def test_cases_of_a_group_are_one_unit() -> None:
    cases = [
        Case("a", "1", group="g", tags={"lang": "de"}),
        Case("b", "2", group="g"),
        Case("c", "3", tags={"lang": "de"}),
    ]
    base = card("a", {("a", 0): 0.0, ("b", 0): 0.0, ("c", 0): 1.0})
    chal = card("b", {("a", 0): 1.0, ("b", 0): 0.5, ("c", 0): 1.0})
    group, single = pair_units(cases, base, chal)
    assert (group.id, group.cases, group.difference) == ("group:g", 2, 0.75)
    assert group.slices == {"lang=de": Reading(1.0, 1.0)}
    assert single.slices == {"lang=de": Reading(0.0, 0.0)}
    assert single.measures == {"usd": (0.0, 0.0), "tokens": (10.0, 10.0), "seconds": (1.0, 1.0)}
    assert count_slices(cases) == {"lang=de": 2}


def test_missing_scores_give_a_range_and_never_a_number() -> None:
    cases = [Case("a", "1", group="g"), Case("b", "2", group="g")]
    base = card("a", {("a", 0): 1.0, ("b", 0): 0.0})
    chal = card("b", {("a", 0): None, ("b", 0): 1.0})
    (found,) = pair_units(cases, base, chal)
    assert (found.difference, found.challenger, found.baseline) == (None, None, 0.5)
    assert found.reading == Reading(worst=0.0, best=0.5)
    assert PairedUnit("u", None, None).reading == Reading(-1.0, 1.0)
    assert PairedUnit("u", 0.25, None).reading == Reading(-0.25, 0.75)
    assert PairedUnit("u", None, 0.25).reading == Reading(-0.75, 0.25)
    (absent,) = pair_units([Case("z", "never run")], base, chal)
    assert absent.reading == Reading(-1.0, 1.0)


@pytest.mark.parametrize(
    "wrong",
    [{"alpha": 0.0}, {"alpha": 1.0}, {"horizon": 0}, {"min_gain": 1.0}, {"min_units": -1}, {"discordance": 0.0}],
)
def test_impossible_plans_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        GatePlan(**{"alpha": 0.05, "horizon": 10, **wrong})  # type: ignore[arg-type]
