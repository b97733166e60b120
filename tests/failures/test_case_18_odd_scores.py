"""A score that is no number in [0, 1] is ungraded, with the case id in its result; ranking and JSON survive it."""

from __future__ import annotations

import json

import pytest

from evolve.core.hashing import canonical_json
from evolve.core.scores import Result, Scorecard
from evolve.core.traces import RunStatus

ODD = {
    "NaN": "float('nan')",
    "inf": "float('inf')",
    "-inf": "-float('inf')",
    "-1": "-1",
    "just above 1": "1.0000001",
    "'0.9'": "'0.9'",
    "true": "True",
    "null": "None",
    "1e308": "1e308",
    "an integer too large for a float": "10 ** 400",
    "an integer too long to print": "10 ** 10_000",
    "a dict": "{'score': 1}",
    "a list": "[1.0]",
    "a Score with text": "Score('0.9', 'because')",
    "a Score with NaN": "Score(float('nan'), 'because')",
    "an object that cannot be shown": "Unshown()",
    "a complex number": "1j",
}

SOURCE = """
from evolve.core.scores import Score
class Unshown:
    def __repr__(self): raise ValueError('no repr')
def score(output, expected):
    return {value}
"""


@pytest.mark.parametrize("name", ODD)
async def test_an_odd_score_is_ungraded(custom_scorer, name: str) -> None:
    score = await custom_scorer(SOURCE.format(value=ODD[name])).score("x", "y")
    assert score.value is None
    assert score.reason.startswith("the scorer returned")
    odd = Result("case-7", 0, RunStatus.FINISHED, score)
    card = Scorecard("tree", {("case-7", 0): odd})
    assert (card.missing, card.mean(), card.case_mean("case-7")) == (1, None, None)
    assert (
        json.loads(canonical_json({"case": odd.case_id, "score": odd.value, "reason": score.reason}))["score"] is None
    )


async def test_a_function_without_return_is_ungraded(custom_scorer) -> None:
    score = await custom_scorer("def score(output, expected): pass").score("x", "y")
    assert (score.value, score.reason) == (None, "the scorer returned None, not a number in [0, 1]")


@pytest.mark.parametrize(("value", "number"), [("0", 0.0), ("1", 1.0), ("0.9", 0.9), ("numpy.float32(0.5)", 0.5)])
async def test_a_number_in_range_is_graded(custom_scorer, value: str, number: float) -> None:
    scorer = custom_scorer(f"import numpy\ndef score(output, expected): return {value}")
    assert (await scorer.score("x", "y")).value == number
