"""The directions in which a design matrix varies: one decomposition that every ridge fit on it shares."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from portfolios.edges import Floats


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Rows in a basis: `inside` (q, r), and the squared length (q,) of what lies outside of it."""

    inside: Floats
    outside: Floats


@dataclass(frozen=True, eq=False)
class Basis:
    """`centre` (p,), orthonormal `directions` (r, p) and `squares` (r,): the squared singular values along them."""

    rows: int
    centre: Floats
    directions: Floats
    squares: Floats

    def coordinates(self, design: Floats) -> Coordinates:
        """Of rows (q, p) of the design matrix."""
        centred = design - self.centre
        inside = centred @ self.directions.T
        outside = (centred**2).sum(axis=1) - (inside**2).sum(axis=1)
        return Coordinates(inside, np.maximum(outside, 0.0))


@dataclass(frozen=True, eq=False)
class Decomposed:
    """A basis with the known rows in it (n, r), directions scaled to length 1: X = centre + left · S · directions."""

    basis: Basis
    left: Floats

    @classmethod
    def of(cls, design: Floats) -> Decomposed:
        """By way of XᵀX where that is much smaller than X."""
        centre = design.mean(axis=0)
        left, squares, directions = _decompose(design - centre)
        return cls(Basis(len(design), centre, directions, squares), left)


@dataclass(frozen=True, eq=False)
class Features:
    """What is known of each known query, as one matrix (n, p) to regress on."""

    matrix: Floats

    @cached_property
    def decomposed(self) -> Decomposed:
        """The matrix taken apart, once for all regressions on it."""
        return Decomposed.of(self.matrix)


class Rows:
    """The same features of new queries, `matrix` (q, p), with their coordinates in each basis that is asked for."""

    def __init__(self, matrix: Floats) -> None:
        self.matrix = matrix
        self._found: dict[int, tuple[Basis, Coordinates]] = {}

    def coordinates(self, basis: Basis) -> Coordinates:
        """Worked out once for a basis."""
        if id(basis) not in self._found:
            self._found[id(basis)] = (basis, basis.coordinates(self.matrix))
        return self._found[id(basis)][1]


def _decompose(centred: Floats) -> tuple[Floats, Floats, Floats]:
    """(left, squared singular values, directions) without the directions in which nothing varies."""
    if len(centred) < 2 * centred.shape[1]:
        left, singular, right = np.linalg.svd(centred, full_matrices=False)
        kept = singular > 1e-6 * max(float(singular.max(initial=0.0)), 1e-12)
        return left[:, kept], singular[kept] ** 2, np.ascontiguousarray(right[kept])
    squares, vectors = np.linalg.eigh(centred.T @ centred)
    kept = squares > 1e-12 * max(float(squares.max(initial=0.0)), 1e-12)
    right = np.ascontiguousarray(vectors[:, kept].T)
    return (centred @ right.T) / np.sqrt(squares[kept]), squares[kept], right
