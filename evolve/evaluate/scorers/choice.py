"""Choice: the output names the expected label."""

from __future__ import annotations

import sys
from typing import Literal

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue, normal_text
from evolve.core.scores import Asked, Score
from evolve.evaluate.scorers.base import Options, scorer_identity, shown, text_of

AROUND = " \t\n\"'`*.,:;!()[]{}“”‘’«»"


class ChoiceOptions(Options):
    """`labels`: all there are; an expected value outside them is ungraded. Empty: any label may be expected."""

    kind: Literal["choice"] = "choice"
    labels: tuple[str, ...] = ()


class ChoiceScorer:
    """1 for the expected label, else 0. Case, `_` and `-` for a space, and marks around a label do not count."""

    def __init__(self, options: ChoiceOptions) -> None:
        """UserError when two labels are the same once normalised."""
        self._labels = {normal_label(label): label for label in options.labels}
        if len(self._labels) < len(options.labels) or "" in self._labels:
            raise UserError(
                "two labels are the same but for case and marks, or one is empty",
                place="scorer.labels",
                fix="name each label once",
            )
        self.identity = scorer_identity(options, sys.modules[__name__])

    async def score(self, output: JSONValue, expected: JSONValue, asked: Asked | None = None) -> Score:
        """Ungraded when the expected value is not a label."""
        wanted = normal_label(text_of(expected) or "")
        if not wanted or (self._labels and wanted not in self._labels):
            return Score.ungraded(f"expected {shown(expected)} is not one of the labels")
        found = normal_label(text_of(output) or "")
        if found == wanted:
            return Score.graded(1.0, "the expected label")
        if self._labels and found not in self._labels:
            return Score.graded(0.0, f"{shown(output)} is not one of the labels")
        return Score.graded(0.0, f"expected {shown(expected)}, got {shown(output)}")

    async def close(self) -> None:
        """Nothing is held."""


def normal_label(text: str) -> str:
    """`"Card_Arrival."` and `card arrival` are one label."""
    return normal_text(text.strip(AROUND).replace("_", " ").replace("-", " "))
