"""Queries that are asked about, with what is worked out of them once for all matchers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from portfolios.edges import Floats, Vectors
from portfolios.matchers.basis import Basis, Coordinates
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

    def matrix(self, known: Known) -> Floats:
        """The queries' rows of the design matrix."""
        return self._once(known.design, lambda: known.design.matrix(self.embeddings, self.texts))

    def coordinates(self, basis: Basis, known: Known) -> Coordinates:
        """The rows of the design matrix in the coordinates of a basis."""
        return self._once(basis, lambda: basis.coordinates(self.matrix(known)))

    def nearest(self, known: Known) -> Neighbours:
        """The NEIGHBOURS nearest known queries of each."""
        return self._once(known.index, lambda: known.index.search(self.embeddings, NEIGHBOURS))

    def _once(self, key: object, make: Callable[[], Made]) -> Made:
        if id(key) not in self._made:
            self._made[id(key)] = (key, make())
        return self._made[id(key)][1]  # type: ignore[return-value]
