"""Contains: the expected text stands somewhere in the output."""

from __future__ import annotations

import re
import sys
from typing import Literal

from evolve.core.hashing import JSONValue, normal_text
from evolve.core.scores import Asked, Score
from evolve.evaluate.scorers.base import Options, scorer_identity, shown, text_of


class ContainsOptions(Options):
    """`need`: of a list of expected texts, all or any. `whole_words`: "12" is not in "112", "cat" not in "category"."""

    kind: Literal["contains"] = "contains"
    need: Literal["all", "any"] = "all"
    whole_words: bool = True


class ContainsScorer:
    """1 when the texts are there, else 0; case, width and white space do not count."""

    def __init__(self, options: ContainsOptions) -> None:
        self._options = options
        self.identity = scorer_identity(options, sys.modules[__name__])

    async def score(self, output: JSONValue, expected: JSONValue, asked: Asked | None = None) -> Score:
        """Ungraded when there is no text to look for: every output contains the empty text."""
        items = expected if isinstance(expected, list) else [expected]
        needles = [normal_text(text_of(item) or "") for item in items]
        if not needles or not all(needles):
            return Score.ungraded(f"expected {shown(expected)} holds an empty or missing text")
        text = text_of(output)
        if text is None:
            return Score.graded(0.0, f"{shown(output)} is not a text")
        haystack = normal_text(text)
        missing = [needle for needle in needles if not self._within(needle, haystack)]
        good = not missing if self._options.need == "all" else len(missing) < len(needles)
        return Score.graded(1.0, "found") if good else Score.graded(0.0, f"without {shown(missing[0])}")

    def _within(self, needle: str, haystack: str) -> bool:
        """Ends of words are asked for beside ASCII letters and digits only: not all scripts part words."""
        if not self._options.whole_words:
            return needle in haystack
        left = r"(?<![a-z0-9_])" if needle[0].isascii() and needle[0].isalnum() else ""
        right = r"(?![a-z0-9_])" if needle[-1].isascii() and needle[-1].isalnum() else ""
        return re.search(left + re.escape(needle) + right, haystack) is not None

    async def close(self) -> None:
        """Nothing is held."""
