"""Exact: the output equals the expected value."""

from __future__ import annotations

import sys
from typing import Literal

from evolve.core.hashing import JSONValue, normal_text
from evolve.core.scores import Asked, Score
from evolve.evaluate.scorers.base import Options, same_json, scorer_identity, shown, text_of


class ExactOptions(Options):
    """`strict`: case, width and white space of texts count. `any_of`: expected is a list of accepted answers."""

    kind: Literal["exact"] = "exact"
    strict: bool = False
    any_of: bool = False


class ExactScorer:
    """1 for an equal output, else 0. Objects and lists are compared as JSON."""

    def __init__(self, options: ExactOptions) -> None:
        self._options = options
        self.identity = scorer_identity(options, sys.modules[__name__])

    async def score(self, output: JSONValue, expected: JSONValue, asked: Asked | None = None) -> Score:
        """Ungraded when `any_of` finds no list of accepted answers."""
        if self._options.any_of and not (isinstance(expected, list) and expected):
            return Score.ungraded(f"expected {shown(expected)} is not a list of accepted answers")
        accepted = expected if self._options.any_of else [expected]
        if any(self._equal(output, answer) for answer in accepted):
            return Score.graded(1.0, "equal")
        return Score.graded(0.0, f"expected {shown(expected)}, got {shown(output)}")

    def _equal(self, output: JSONValue, answer: JSONValue) -> bool:
        ours, theirs = text_of(output), text_of(answer)
        if ours is None or theirs is None:
            return same_json(output, answer)
        return ours == theirs if self._options.strict else normal_text(ours) == normal_text(theirs)

    async def close(self) -> None:
        """Nothing is held."""
