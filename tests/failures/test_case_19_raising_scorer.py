"""A scorer that raises on every case stops the run after N with the traceback; one that raises once is isolated."""

from __future__ import annotations

import pytest

from evolve.core.errors import UserError
from evolve.evaluate.scorers import FaultCounter, ScorerFault


async def score_all(scorer, cases: list[str], counter: FaultCounter, attempts: int = 1) -> dict[str, float | None]:
    """What a suite does: a fault is counted and missing, a score ends the row of faults."""
    values: dict[str, float | None] = {}
    for case in cases:
        for _ in range(attempts):
            try:
                values[case] = (await scorer.score(case, None)).value
                counter.succeeded()
                break
            except ScorerFault as fault:
                values[case] = None
                counter.failed(case, fault)
    return values


async def test_raising_on_every_case_stops_with_the_traceback(custom_scorer) -> None:
    scorer = custom_scorer("def score(output, expected):\n    return output.no_such_method()")
    cases = [f"case-{n}" for n in range(20)]
    asked: list[str] = []

    class Watched:
        async def score(self, output, expected):
            asked.append(output)
            return await scorer.score(output, expected)

    with pytest.raises(UserError, match="failed on 5 cases in a row") as caught:
        await score_all(Watched(), cases, FaultCounter(limit=5), attempts=2)
    assert set(asked) == set(cases[:5])
    assert "'case-4'" in str(caught.value)
    assert "AttributeError: 'str' object has no attribute 'no_such_method'" in str(caught.value)
    assert 'scorer.py", line 2, in score' in str(caught.value)
    assert caught.value.exit_code == 2


async def test_raising_on_three_of_twenty_is_isolated(custom_scorer) -> None:
    scorer = custom_scorer("def score(output, expected):\n    assert output not in ('2', '3', '11')\n    return 1")
    values = await score_all(scorer, [str(n) for n in range(20)], FaultCounter(limit=3))
    assert [case for case, value in values.items() if value is None] == ["2", "3", "11"]
    assert sum(value == 1.0 for value in values.values()) == 17


async def test_repeated_attempts_at_one_case_count_once(custom_scorer) -> None:
    scorer = custom_scorer("def score(output, expected):\n    assert output != 'bad'\n    return 1")
    values = await score_all(scorer, ["bad", "good"], FaultCounter(limit=2), attempts=9)
    assert values == {"bad": None, "good": 1.0}
