"""The error budget: never overspent, spent once per key, all cases or none."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.core.errors import UserError
from evolve.store import Home, open_home

KEYS = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4)
LOOKS = st.lists(st.tuples(KEYS, st.sampled_from([0.01, 0.02, 0.025, 0.05 / 3])), max_size=8)


@settings(max_examples=15, deadline=None)
@given(looks=LOOKS)
def test_no_case_ever_spends_more_than_its_budget(looks: list[tuple[list[str], float]]) -> None:
    with TemporaryDirectory() as folder:
        home = open_home(Path(folder) / "home", create=True)
        for number, (cases, alpha) in enumerate(looks):
            before = home.alpha.spent("abcdef")
            try:
                home.alpha.reserve(cases, alpha, budget=0.05, campaign="c", key=f"look/{number}")
            except UserError:
                assert home.alpha.spent("abcdef") == before
                assert max(before[c] for c in cases) + alpha > 0.05
            else:
                after = home.alpha.spent("abcdef")
                assert after == {c: before[c] + (alpha if c in cases else 0) for c in "abcdef"}
        assert max(home.alpha.spent("abcdef").values()) <= 0.05 + 1e-9
        home.close()


def test_a_resumed_gate_spends_once_and_gets_what_it_had(home: Home) -> None:
    alpha = home.alpha
    assert alpha.reserved("gate/c") is None
    assert alpha.reserve(["a", "b"], 0.03, budget=0.05, campaign="c", key="gate/c") == 0.03
    # A resumed campaign computes another share from what is left now; what it has reserved stands.
    assert alpha.reserve(["b", "a"], 0.0, budget=0.05, campaign="c", key="gate/c") == 0.03
    assert alpha.reserved("gate/c") == 0.03
    assert alpha.spent(["a", "b", "new"]) == {"a": 0.03, "b": 0.03, "new": 0.0}


def test_decimal_shares_fill_a_budget_exactly(home: Home) -> None:
    for look in range(3):
        home.alpha.reserve(["a"], 0.1, budget=0.3, campaign="c", key=str(look))
    with pytest.raises(UserError, match=r"0 of their error budget 0\.3 left.*0\.001"):
        home.alpha.reserve(["a", "b"], 0.001, budget=0.3, campaign="c", key="more")
    assert home.alpha.spent(["b"]) == {"b": 0.0}


@pytest.mark.parametrize("alpha", [0.0, -0.1, float("nan"), float("inf")])
def test_only_a_positive_alpha_can_be_spent(home: Home, alpha: float) -> None:
    with pytest.raises(UserError):
        home.alpha.reserve(["a"], alpha, budget=1.0, campaign="c", key="k")


def test_a_key_stands_for_its_cases(home: Home) -> None:
    home.alpha.reserve(["a"], 0.01, budget=0.05, campaign="c", key="k")
    with pytest.raises(UserError, match="other cases"):
        home.alpha.reserve(["a", "b"], 0.01, budget=0.05, campaign="c", key="k")
