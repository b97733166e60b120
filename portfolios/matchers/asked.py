"""Queries that are asked about, with what is worked out of them once for all matchers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from portfolios.edges import Vectors
from portfolios.matchers.basis import Rows
from portfolios.matchers.known import Known
from portfolios.nearest import Neighbours

Made = TypeVar("Made")

NEIGHBOURS = 40
"""How many nearest known queries are looked up."""


class Asked:
    """`embeddings` (q, d) and `texts` of q queries. Matchers fitted on one `Known` share what is worked out here."""

    def __init__(self, embeddings: Vectors, texts: Sequence[str]) -> None:
        self.embeddings = embeddings
        self.texts = texts
        self._made: dict[int, tuple[object, object]] = {}

    def rows(self, known: Known) -> Rows:
        """The queries' rows of the design matrix."""
        return self._once(known.design, lambda: Rows(known.design.matrix(self.embeddings, self.texts)))

    def nearest(self, known: Known) -> Neighbours:
        """The NEIGHBOURS nearest known queries of each."""
        return self._once(known.index, lambda: known.index.search(self.embeddings, NEIGHBOURS))

    def _once(self, key: object, make: Callable[[], Made]) -> Made:
        if id(key) not in self._made:
            self._made[id(key)] = (key, make())
        return self._made[id(key)][1]  # type: ignore[return-value]
