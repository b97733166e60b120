"""The seal: heldout cases leave it in one order, for a recorded look, and their error budget follows their text."""

from __future__ import annotations

import pytest

from evolve.core.cases import Case, Dataset, Split
from evolve.core.errors import HeldoutSealed, UserError
from evolve.evaluate.heldout import LookPermit, SealedCases, reserve_alpha, seal, spendable_alpha
from evolve.store import Home


def cases(count: int, prefix: str = "c", group: int = 1) -> list[Case]:
    return [
        Case(id=f"{prefix}{i}", input=f"question {i}", expected="yes", group=f"g{i // group}" if group > 1 else "")
        for i in range(count)
    ]


def test_the_order_depends_on_the_texts_and_not_on_ids_or_file_order(home: Home) -> None:
    permit = LookPermit(home.ledger, "x-1", "gate")
    one = SealedCases(cases(30)).look(0, 30, permit)
    other = SealedCases(list(reversed(cases(30, prefix="renamed")))).look(0, 30, permit)
    assert [c.input for c in one] == [c.input for c in other]
    assert [c.input for c in one] != [c.input for c in cases(30)]


def test_every_look_is_in_the_ledger_before_its_cases_are_handed_out(home: Home) -> None:
    sealed = SealedCases(cases(20))
    sealed.look(0, 8, LookPermit(home.ledger, "x-1", "gate"))
    sealed.look(8, 16, LookPermit(home.ledger, "x-1", "gate"))
    assert [row.detail["units"] for row in home.ledger.rows("x-1", "heldout_look")] == [[0, 8], [8, 16]]


def test_sealed_cases_cannot_be_listed_or_printed() -> None:
    sealed = SealedCases(cases(5))
    with pytest.raises(HeldoutSealed):
        list(sealed)  # type: ignore[call-overload]
    assert "question" not in repr(sealed)


def test_sealing_leaves_train_and_dev_alone() -> None:
    dataset = Dataset("d", {Split.TRAIN: tuple(cases(3)), Split.DEV: tuple(cases(2)), Split.HELDOUT: tuple(cases(4))})
    visible, sealed = seal(dataset)
    assert len(visible[Split.TRAIN]) == 3
    assert visible[Split.HELDOUT] == ()
    assert sealed.cases == 4


def test_groups_are_units_and_at_most_so_many_cases_of_each_are_used(home: Home) -> None:
    sealed = SealedCases(cases(40, group=5), per_unit=2)
    assert (sealed.units, sealed.cases) == (8, 16)
    assert sealed.first(7) == 3
    assert len(sealed.look(0, 3, LookPermit(home.ledger, "x-1", "gate"))) == 6
    assert len(sealed.text_keys) == 40


def test_the_error_budget_follows_the_text_whatever_the_case_is_called(home: Home) -> None:
    first = reserve_alpha(home.alpha, SealedCases(cases(20)), 0.05, 0.5, "x-1")
    assert first == pytest.approx(0.025)
    changed = [Case(id=f"new{c.id}", input=f"  QUESTION   {i} ", expected="no") for i, c in enumerate(cases(20))]
    assert spendable_alpha(home.alpha, SealedCases(changed), 0.05, 0.5) == pytest.approx(0.0125)
    assert spendable_alpha(home.alpha, SealedCases(cases(20, "other")[:1]), 0.05, 1.0) == pytest.approx(0.025)


def test_a_resumed_campaign_spends_once(home: Home) -> None:
    sealed = SealedCases(cases(20))
    assert reserve_alpha(home.alpha, sealed, 0.05, 0.5, "x-1") == reserve_alpha(home.alpha, sealed, 0.05, 0.5, "x-1")
    assert spendable_alpha(home.alpha, sealed, 0.05, 1.0) == pytest.approx(0.025)


def test_a_used_up_budget_is_refused_with_the_way_out(home: Home) -> None:
    sealed = SealedCases(cases(20))
    reserve_alpha(home.alpha, sealed, 0.05, 1.0, "x-1")
    with pytest.raises(UserError, match="fresh cases"):
        reserve_alpha(home.alpha, sealed, 0.05, 1.0, "x-2")
