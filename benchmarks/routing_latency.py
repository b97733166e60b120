"""What routing adds to a query: embedding, prediction and decision, with 5 members and 10,000 known cases.

    python benchmarks/routing_latency.py [--quick] [--json]

Queries are short (about 12 words) and new; one at a time, in this process, the router opened as `evolve route` opens
it. `quality_*` uses MiniLM, `fast_*` static word vectors; the matcher is the stack with all bases in use. Known cases
and scores are made up. `curation_seconds` is the time to curate 2,000 candidates on 500 cases with up to 8 members.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace

import numpy as np

from evolve.core.protocols import Embedder
from evolve.embed import open_embedder
from portfolios.curate import CurationSettings, curate
from portfolios.edges import Edges, Query
from portfolios.matchers import Stack
from portfolios.recipe import RouterPolicy
from portfolios.router import Router

KNOWN, MEMBERS = 10_000, 5
TOPICS = (
    "invoice refund ship order late price discount customer address phone bank",
    "meeting agenda weekday month deadline calendar reminder invite room minutes",
    "table column average largest sum divide percent total chart row figure",
    "translate summary label urgent password login error reply draft paragraph",
)
WORDS = [word for topic in TOPICS for word in topic.split(" ")]


def main() -> None:
    """Prints percentiles in milliseconds, one JSON object on the last line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    queries = 300 if options.quick else 2_000
    found: dict[str, float] = {}
    for kind in ("quality", "fast"):
        found.update(measure(kind, queries))
    found["curation_seconds"] = curation_seconds()
    if not options.json:
        print(f"{MEMBERS} members, {KNOWN:,} known cases, {queries} queries of about 12 words")
    print(json.dumps(found))


def measure(kind: str, queries: int) -> dict[str, float]:
    """p50 and p99 of one decision."""
    embedder = open_embedder(kind)
    rng = np.random.default_rng(0)
    router = make_router(embedder, rng)
    texts = [sentence(rng, i) for i in range(queries + 20)]
    spent = []
    for number, text in enumerate(texts):
        started = time.perf_counter()
        router.decide(text)
        if number >= 20:
            spent.append(time.perf_counter() - started)
    p50, p99 = np.quantile(1000 * np.array(spent), [0.5, 0.99])
    return {f"{kind}_p50_ms": round(float(p50), 3), f"{kind}_p99_ms": round(float(p99), 3)}


def make_router(embedder: Embedder, rng: np.random.Generator) -> Router:
    """Embeddings of known cases are drawn around those of 500 real sentences: what counts is how many there are."""
    some = embedder.embed([sentence(rng, i) for i in range(500)])
    rows = some[rng.integers(0, len(some), KNOWN)] + 0.05 * rng.standard_normal((KNOWN, some.shape[1]))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    texts = [sentence(rng, i) for i in range(KNOWN)]
    known = tuple(Query(f"k{i}", text, f"f{i:05d}", f"case:k{i}", f"family-{i % 8}") for i, text in enumerate(texts))
    scores = (rng.random((KNOWN, MEMBERS)) < 0.6).astype(float)
    members = tuple(f"tree-{j}" for j in range(MEMBERS))
    costs = rng.random((KNOWN, MEMBERS)) / 1000
    edges = Edges(known, members, rows.astype(np.float32), scores, costs)
    matcher = Stack(family=0.2, shares=0.2, linear=0.2, factor=0.2, knn=0.2)
    router = Router.fit(edges, matcher, RouterPolicy(default_member="tree-0"))
    return replace(router, embedder=embedder)


def sentence(rng: np.random.Generator, number: int) -> str:
    """About 12 words."""
    return " ".join(rng.choice(WORDS, 11)) + f" {number}?"


def curation_seconds() -> float:
    """Seconds for the whole curve up to 8 members."""
    rng = np.random.default_rng(0)
    scores = (rng.random((500, 2_000)) < 0.3 * rng.random((500, 1))).astype(float)
    started = time.perf_counter()
    curate([f"tree-{j:04d}" for j in range(2_000)], scores, CurationSettings(max_size=8, tau=1.0))
    return round(time.perf_counter() - started, 2)


if __name__ == "__main__":
    main()
