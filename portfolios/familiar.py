"""Familiarity: whether a query resembles the known ones enough for what was learned from them to hold."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from evolve.core.redact import shape_of
from portfolios.edges import Edges
from portfolios.nearest import find_nearest

_WORD = re.compile(r"[^\W\d_]+")
_LONGER = 2
_NEAR = 0.5
"""This similar is never far: known cases made from one template would else make every other wording far."""
_WORDS = 0.8
"""The share of the usual share of known words that still counts as familiar, for the same reason."""


@dataclass(frozen=True, eq=False)
class Familiarity:
    """Three measures with limits taken from the known queries, each compared with all the others, and some slack.

    Similarity to the nearest known query; length against the longest; and the share of words that any known query
    uses, which catches another language even where an embedder does not.
    """

    nearest: float
    longest: int
    words: frozenset[str]
    shared_words: float

    @classmethod
    def of(cls, edges: Edges, quantile: float) -> Familiarity:
        """Limits that all but `quantile` of the known queries keep; nothing is far when fewer than two are known."""
        texts = edges.texts
        # Masked texts have no words: where all are masked, no query is far for its words.
        found = [frozenset(_WORD.findall(text.casefold())) for text in texts if text != shape_of(text)]
        if len(texts) < 2:
            return cls(-1.0, max(map(len, texts), default=0), frozenset().union(*found), 0.0)
        near = find_nearest(edges.embeddings, edges.embeddings, 1, skip_self=True).similarities[:, 0]
        uses = Counter(word for words in found for word in words)
        shared = [sum(uses[w] > 1 for w in words) / len(words) for words in found if words] or [0.0]
        return cls(
            min(float(np.quantile(near, quantile, method="lower")), _NEAR),
            max(map(len, texts)),
            frozenset(uses),
            _WORDS * float(np.quantile(shared, quantile, method="lower")),
        )

    def why_far(self, text: str, similarity: float) -> str:
        """Why this query is far from everything known, in words; empty when it is not."""
        if similarity < self.nearest:
            return f"the most similar known case has similarity {similarity:.2f}, below {self.nearest:.2f}"
        if len(text) > _LONGER * self.longest:
            return f"its {len(text)} characters are more than {_LONGER} times the longest known case ({self.longest})"
        words = frozenset(_WORD.findall(text.casefold()))
        share = len(words & self.words) / len(words) if words else 1.0
        if share < self.shared_words:
            return f"only {100 * share:.0f} % of its words occur in known cases, below {100 * self.shared_words:.0f} %"
        return ""
