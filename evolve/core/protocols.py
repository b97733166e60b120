"""The seams: small protocols that the four rooms receive as arguments instead of importing the house below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evolve.core.hashing import JSONValue
from evolve.core.scores import Asked, Score

Files = Mapping[str, bytes]
"""A file tree: POSIX relative path → bytes."""


class Embedder(Protocol):
    """Texts to unit vectors. Deterministic."""

    @property
    def identity(self) -> str:
        """Name and weights hash; part of every router recipe."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (len(texts), d), rows of Euclidean length 1 (zero rows for empty text)."""
        ...


class TreeStore(Protocol):
    """Content-addressed file trees. The id of a tree is the git tree hash of its files: 40 hex digits."""

    def put(self, files: Files) -> str:
        """Stores (idempotent) and returns the id."""
        ...

    def get(self, tree: str) -> dict[str, bytes]:
        """Byte-exact files; UserError when the id is unknown."""
        ...

    def resolve(self, prefix: str) -> str:
        """The full id for an unambiguous prefix of at least four digits; UserError otherwise."""
        ...


class Scorer(Protocol):
    """Grades one output against what was expected."""

    @property
    def identity(self) -> str:
        """Name, settings and source hash; part of every result key."""
        ...

    async def score(self, output: JSONValue, expected: JSONValue, asked: Asked | None = None) -> Score:
        """Never raises for a bad output: a wrong answer is 0. What cannot be told is ungraded.

        `asked` is the run that gave the output; only a scorer that is a model needs it. Raises ScorerFault
        (evolve.evaluate) when the scorer itself failed.
        """
        ...

    async def close(self) -> None:
        """Ends child processes; safe to call twice."""
        ...
