"""Edges: what each member scored and cost on each known query, which is all that a router learns from."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evolve.core.cases import Case
from evolve.core.errors import UserError
from evolve.core.hashing import canonical_json, content_hash, sha256_hex
from evolve.core.scores import Result, Scorecard

Floats = NDArray[np.float64]
Vectors = NDArray[np.float32]

MAGIC = b"evolve-edges-1\n"
"""How the bytes of an edge table begin."""
_HEADER = struct.Struct("<Q")
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Query:
    """One known case as a router may see it: its text, never its expected value.

    `family` names the kind of task, empty where it is not known. It is a label to learn from: of a new query only the
    text is seen, and its family is inferred.
    """

    case_id: str
    text: str
    fingerprint: str
    unit: str
    family: str = ""

    @classmethod
    def of(cls, case: Case, family: str = "") -> Query:
        """The router's view of `case`."""
        return cls(case.id, case.text, case.fingerprint, case.unit, family)


@dataclass(frozen=True, eq=False)
class Edges:
    """Rows are queries, columns are member trees.

    `embeddings` (n, d) float32; `scores` (n, m) in [0, 1], NaN where missing; `costs` (n, m) in dollars, NaN where
    unknown, or None when no cost is known at all. `Edges.build` puts rows and columns in one canonical order, so that
    equal facts give equal fits.
    """

    queries: tuple[Query, ...]
    members: tuple[str, ...]
    embeddings: Vectors
    scores: Floats
    costs: Floats | None = None

    def __post_init__(self) -> None:
        shape = (len(self.queries), len(self.members))
        if self.scores.shape != shape or (self.costs is not None and self.costs.shape != shape):
            raise ValueError(f"scores and costs must have shape {shape}")
        if self.embeddings.ndim != 2 or len(self.embeddings) != shape[0]:
            raise ValueError(f"one embedding for each of {shape[0]} queries is needed")
        if len(set(self.members)) != len(self.members):
            raise ValueError("a member is named twice")
        present = self.scores[~np.isnan(self.scores)]
        if present.size and not (present.min() >= 0.0 and present.max() <= 1.0):
            raise ValueError("scores lie in [0, 1]")

    @classmethod
    def build(
        cls,
        cases: Sequence[Case],
        scorecards: Sequence[Scorecard],
        embeddings: Vectors,
        *,
        demonstrations: Mapping[str, Collection[str]] | None = None,
        families: Mapping[str, str] | None = None,
    ) -> Edges:
        """Edges of the trees of `scorecards` on `cases`; `embeddings` are those of the cases' texts, row by row.

        A score is the mean over a case's repetitions and missing when any of them is. `demonstrations` (tree → case
        ids) removes the edges of cases that a tree carries as demonstrations: it has seen their answers. `families`
        (case id → family) labels the kinds of task that are known.
        """
        columns = [_column(cases, card) for card in scorecards]
        scores = np.array([c[0] for c in columns], np.float64).reshape(len(columns), len(cases)).T
        costs = np.array([c[1] for c in columns], np.float64).reshape(len(columns), len(cases)).T
        edges = cls(
            tuple(Query.of(case, (families or {}).get(case.id, "")) for case in cases),
            tuple(card.tree for card in scorecards),
            np.asarray(embeddings, np.float32),
            scores,
            None if np.isnan(costs).all() else costs,
        )
        return edges.excluding(demonstrations or {}).in_order()

    @property
    def texts(self) -> tuple[str, ...]:
        """The query texts, row by row."""
        return tuple(q.text for q in self.queries)

    @property
    def units(self) -> tuple[str, ...]:
        """The statistical unit of each row."""
        return tuple(q.unit for q in self.queries)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many edges each member has, (m,)."""
        return np.asarray((~np.isnan(self.scores)).sum(axis=0), np.int64)

    @cached_property
    def edge_set_hash(self) -> str:
        """Hash over (fingerprint, member, score to nine digits, family if any) of every present edge, in any order."""
        rows, columns = np.nonzero(~np.isnan(self.scores))
        facts = [
            [self.queries[i].fingerprint, self.members[j], repr(round(float(self.scores[i, j]), _DIGITS))]
            + ([self.queries[i].family] if self.queries[i].family else [])
            for i, j in zip(rows, columns, strict=True)
        ]
        return content_hash(sorted(facts))

    def in_order(self) -> Edges:
        """The same edges with rows by fingerprint and columns by tree id."""
        rows = sorted(range(len(self.queries)), key=lambda i: (self.queries[i].fingerprint, self.queries[i].case_id))
        columns = sorted(range(len(self.members)), key=lambda j: self.members[j])
        return self.take(rows, columns)

    def take(self, rows: Sequence[int], columns: Sequence[int]) -> Edges:
        """The given rows and columns, in the given order."""
        cell = np.ix_(np.asarray(rows, np.int64), np.asarray(columns, np.int64))
        return Edges(
            tuple(self.queries[i] for i in rows),
            tuple(self.members[j] for j in columns),
            self.embeddings[np.asarray(rows, np.int64)],
            self.scores[cell],
            None if self.costs is None else self.costs[cell],
        )

    def of_members(self, members: Collection[str]) -> Edges:
        """Only the columns of `members`; UserError names one that has no column here."""
        for member in sorted(members):
            if member not in self.members:
                raise UserError(f"member {member} has no edges", fix="measure it on the train cases first")
        wanted = [j for j, member in enumerate(self.members) if member in set(members)]
        return self.take(range(len(self.queries)), wanted)

    def excluding(self, cases: Mapping[str, Collection[str]]) -> Edges:
        """Without the edges of the given (member → case ids); members that have no column are ignored."""
        scores = self.scores.copy()
        for member, ids in cases.items():
            if member in self.members:
                seen = [i for i, q in enumerate(self.queries) if q.case_id in ids]
                scores[seen, self.members.index(member)] = np.nan
        return replace(self, scores=scores)

    def joined(self, other: Edges) -> Edges:
        """These rows and those of `other`, which has the same members, in canonical order."""
        other = other.of_members(self.members).in_order()
        mine = self.in_order()
        known = mine.costs is not None and other.costs is not None
        return Edges(
            (*mine.queries, *other.queries),
            mine.members,
            np.concatenate([mine.embeddings, other.embeddings]),
            np.concatenate([mine.scores, other.scores]),
            np.concatenate([mine.costs, other.costs]) if known else None,
        ).in_order()

    def retold(self, tell: Callable[[str], str]) -> Edges:
        """The same edges with every query's text as `tell` tells it; fingerprints and embeddings stay."""
        return replace(self, queries=tuple(replace(query, text=tell(query.text)) for query in self.queries))

    def to_bytes(self) -> bytes:
        """A self-describing table: equal edges give equal bytes on every machine."""
        header = canonical_json(
            {
                "members": list(self.members),
                "queries": [[q.case_id, q.text, q.fingerprint, q.unit, q.family] for q in self.queries],
                "dimensions": int(self.embeddings.shape[1]),
                "costs": self.costs is not None,
            }
        )
        blocks = [self.embeddings.astype("<f4").tobytes(), _float_bytes(self.scores)]
        if self.costs is not None:
            blocks.append(_float_bytes(self.costs))
        body = _HEADER.pack(len(header)) + header + b"".join(blocks)
        return MAGIC + sha256_hex(body).encode() + body

    @classmethod
    def from_bytes(cls, data: bytes) -> Edges:
        """The inverse of `to_bytes`; UserError when the bytes are cut, changed or of another format."""
        start = len(MAGIC) + 64
        body = data[start:]
        if not data.startswith(MAGIC) or sha256_hex(body).encode() != data[len(MAGIC) : start]:
            raise UserError(
                "these bytes are not a whole edge table of this format", fix="fit the router again from stored results"
            )
        (length,) = _HEADER.unpack_from(body)
        header = json.loads(body[_HEADER.size : _HEADER.size + length])
        shape = (len(header["queries"]), len(header["members"]))
        at = _HEADER.size + length
        vectors = np.frombuffer(body, "<f4", shape[0] * header["dimensions"], at).astype(np.float32)
        at += vectors.nbytes
        tables = np.frombuffer(body, "<f8", -1, at).astype(np.float64).reshape(-1, *shape)
        return cls(
            tuple(Query(*row) for row in header["queries"]),
            tuple(header["members"]),
            vectors.reshape(shape[0], header["dimensions"]),
            tables[0],
            tables[1] if header["costs"] else None,
        )


def _float_bytes(table: Floats) -> bytes:
    """Little-endian doubles with one bit pattern for NaN."""
    return np.where(np.isnan(table), np.nan, table).astype("<f8").tobytes()


def _column(cases: Sequence[Case], card: Scorecard) -> tuple[list[float], list[float]]:
    """Scores and dollars of one tree on `cases`, NaN where missing or unpriced."""
    means = [card.case_mean(case.id) for case in cases]
    costs = [_mean_cost(card.by_case.get(case.id, ())) for case in cases]
    return [np.nan if mean is None else mean for mean in means], costs


def _mean_cost(results: Sequence[Result]) -> float:
    if not results or any(r.unpriced_calls for r in results):
        return np.nan
    return float(sum(r.usd for r in results) / len(results))
