"""Outcome tables for benchmarks: who scored what, at what cost, on which query; read from disk or made up."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet

from evolve.core.hashing import derive_seed, normal_text, sha256_hex
from evolve.core.protocols import Embedder
from portfolios.edges import Edges, Query


@dataclass(frozen=True)
class Table:
    """Edges of complete rows: queries that every member answered. Rows are grouped by equal text."""

    name: str
    edges: Edges

    def split(self, seed: int) -> tuple[Edges, Edges]:
        """(train + dev, test): four fifths and one fifth, equal texts on one side."""
        units = sorted(set(self.edges.units), key=lambda unit: derive_seed(seed, "benchmark split", unit))
        return self._divide(units, 0.8 * len(self.edges.queries))

    def first(self, labels: int, seed: int) -> tuple[Edges, Edges]:
        """(about `labels` queries, the rest)."""
        units = sorted(set(self.edges.units), key=lambda unit: derive_seed(seed, "benchmark labels", unit))
        return self._divide(units, labels)

    def _divide(self, units: list[str], wanted: float) -> tuple[Edges, Edges]:
        sizes: dict[str, int] = {}
        for unit in self.edges.units:
            sizes[unit] = sizes.get(unit, 0) + 1
        taken, count = set(), 0
        for unit in units:
            if count >= wanted:
                break
            taken.add(unit)
            count += sizes[unit]
        inside = np.array([unit in taken for unit in self.edges.units])
        columns = range(len(self.edges.members))
        near, far = (np.flatnonzero(mask).tolist() for mask in (inside, ~inside))
        return self.edges.take(near, columns), self.edges.take(far, columns)


def read_tables(folder: Path, embedder: Embedder, cache: Path | None, only: list[str] | None) -> Iterator[Table]:
    """Every sub-folder with `outcomes.parquet` and `queries.jsonl`, by name. A score outside [0, 1] is none."""
    for place in sorted(path.parent for path in folder.glob("*/outcomes.parquet")):
        if only is None or place.name in only:
            yield _read(place, embedder, cache)


def _read(place: Path, embedder: Embedder, cache: Path | None) -> Table:
    lines = (place / "queries.jsonl").read_text("utf-8").split("\n")
    raw = {str(row["query_id"]): row for row in map(json.loads, filter(None, lines))}
    columns = parquet.read_table(place / "outcomes.parquet").to_pydict()
    members = tuple(sorted(set(columns["member"])))
    scores, costs = (np.full((len(raw), len(members)), np.nan) for _ in range(2))
    rows, at = {query: i for i, query in enumerate(raw)}, {member: j for j, member in enumerate(members)}
    known = columns.get("cost") or [None] * len(columns["score"])
    for query, member, score, cost in zip(columns["query_id"], columns["member"], columns["score"], known, strict=True):
        if str(query) in rows:
            cell = rows[str(query)], at[member]
            scores[cell] = score if score is not None and 0.0 <= score <= 1.0 else np.nan
            costs[cell] = np.nan if cost is None else cost
    complete = np.flatnonzero(~np.isnan(scores).any(axis=1))
    ids = list(raw)
    queries = tuple(_query(ids[i], raw[ids[i]]) for i in complete)
    known_costs = None if np.isnan(costs[complete]).any() else costs[complete]
    embeddings = _embed([q.text for q in queries], embedder, cache)
    return Table(place.name, Edges(queries, members, embeddings, scores[complete], known_costs))


def _query(key: str, row: dict[str, object]) -> Query:
    text = str(row.get("text") or "")
    unit = sha256_hex(normal_text(text).encode("utf-8", "surrogatepass")) if text else key
    return Query(key, text, sha256_hex(key.encode()), unit, str(row.get("group") or ""))


def _embed(texts: list[str], embedder: Embedder, cache: Path | None) -> np.ndarray:
    if cache is None:
        return embedder.embed(texts)
    digest = hashlib.sha256("\x00".join([embedder.identity, *texts]).encode("utf-8", "surrogatepass")).hexdigest()
    place = cache / f"{digest[:32]}.npy"
    if not place.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.save(place, embedder.embed(texts))
    return np.asarray(np.load(place), np.float32)


TOPICS = {
    "sums": ("what is {a} plus {b}", "add {a} to {b}", "{a} apples and {b} more, how many are there"),
    "words": ("which word is the opposite of number {a} in list {b}", "spell item {a} of page {b} backwards"),
    "dates": ("which weekday is day {a} of month {b}", "how many days lie between day {a} and day {b}"),
    "code": ("def f{a}(x): return x + {b}  # what does it return", "for i in range({a}): print(i * {b})"),
}


def specialists(embedder: Embedder, rows: int = 1200) -> Table:
    """A made-up table that a router must win: four members, each good at one topic (0.9 against 0.45) and as good
    as the others on average, so that whoever always picks one member loses 11 points or more to the right choice."""
    rng = np.random.default_rng(1)
    names = list(TOPICS)
    topic = rng.integers(0, len(names), rows)
    texts = [str(rng.choice(TOPICS[names[t]])).format(a=rng.integers(1, 99), b=rng.integers(1, 99)) for t in topic]
    chance = np.where(topic[:, None] == np.arange(len(names))[None, :], 0.9, 0.45)
    scores = (rng.random((rows, len(names))) < chance).astype(float)
    costs = np.tile(np.array([1.0, 2.0, 3.0, 4.0]) / 1000, (rows, 1))
    queries = tuple(replace(_query(f"made-{i}", {"text": text}), family="") for i, text in enumerate(texts))
    members = tuple(f"good at {name}" for name in names)
    return Table("specialists", Edges(queries, members, embedder.embed(texts), scores, costs))
