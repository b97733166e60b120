"""What is known of the training queries, worked out once for all matchers that are fitted on the same edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from portfolios.edges import Edges, Floats, Vectors
from portfolios.matchers.basis import Features
from portfolios.matchers.design import Design
from portfolios.nearest import Index

_QUERIES_PER_CLUSTER = 20
_MOST_CLUSTERS = 16
_STEPS = 25


@dataclass(frozen=True, eq=False)
class Known:
    """Edges with their design matrix and the family of each query."""

    edges: Edges

    @cached_property
    def design(self) -> Design:
        """Blocks of equal weight."""
        return Design.of(self.edges)

    @cached_property
    def features(self) -> Features:
        """The design matrix of the known queries."""
        return Features(self.design.matrix(self.edges.embeddings, self.edges.texts))

    @cached_property
    def index(self) -> Index:
        """The embeddings, ready to be searched."""
        return Index.of(self.edges.embeddings)

    @cached_property
    def families(self) -> Floats:
        """Membership (n, families), rows of zeros and one 1.

        The labels of the queries where any has one (unlabelled queries are a family of their own), else clusters of
        their embeddings.
        """
        labels = [query.family for query in self.edges.queries]
        if len(set(labels)) > 1:
            names = sorted(set(labels))
            return _one_hot(np.array([names.index(label) for label in labels]), len(names))
        wanted = min(_MOST_CLUSTERS, max(1, len(labels) // _QUERIES_PER_CLUSTER))
        return _one_hot(clusters_of(self.edges.embeddings, wanted), wanted)


def clusters_of(embeddings: Vectors, count: int) -> NDArray[np.int64]:
    """The cluster (n,) of each row by spherical k-means, started from the rows that lie farthest apart."""
    centres = embeddings[_spread_rows(embeddings, count)].astype(np.float64)
    assigned = np.full(len(embeddings), -1)
    for _ in range(_STEPS):
        nearest = np.argmax(np.round(embeddings @ centres.T, 6), axis=1)
        if (nearest == assigned).all():
            break
        assigned = nearest
        for cluster in np.unique(assigned):
            mean = embeddings[assigned == cluster].mean(axis=0, dtype=np.float64)
            centres[cluster] = mean / max(float(np.linalg.norm(mean)), 1e-9)
    return np.asarray(assigned, np.int64)


def _spread_rows(embeddings: Vectors, count: int) -> list[int]:
    """Row 0, then each time the row least similar to all taken so far."""
    rows = [0]
    closest = embeddings @ embeddings[0]
    while len(rows) < count:
        rows.append(int(np.argmin(np.round(closest, 6))))
        closest = np.maximum(closest, embeddings @ embeddings[rows[-1]])
    return rows


def _one_hot(classes: NDArray[np.int64], width: int) -> Floats:
    table = np.zeros((len(classes), width))
    table[np.arange(len(classes)), classes] = 1.0
    return table
