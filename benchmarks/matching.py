"""Routing on tables of real outcomes: the guarded router against the best single member and simple routers.

    python benchmarks/matching.py [--quick] [--json] [--tables DIR] [--only NAME ...] [--cache DIR]

Tables are folders with `outcomes.parquet` (query_id, member, score, cost) and `queries.jsonl` (query_id, text, group),
read from --tables, else $EVOLVE_OUTCOME_DATA, else ../shared/data; `specialists` is made up here. Each is split by seed
into train + dev (four fifths) and test, equal texts on one side. Everything is chosen on train + dev: the best single
member, and by cross-fitting matcher, weights, margin and guard; one setting for all tables. Groups are labels to learn
from; of a test query only the text is seen. Gains are in points of 100 over all test queries of all seeds, paired by
query, with 95 % bootstrap intervals. `thrifty` is the same router under the largest saving that cost nothing on train +
dev. Full runs embed with MiniLM (--cache keeps the vectors) and use five seeds, two on tables of over 10,000 queries;
quick ones use static word vectors and one seed, and leave tables of over 10,000 queries to a sample of 3,000.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from tables import Table, read_tables, specialists

from evolve.campaign.stages.fit import router_guard
from evolve.embed import open_embedder
from portfolios.choose import ChoiceSettings, RouterChoice, cross_fit_router
from portfolios.crossfit import weights_of
from portfolios.edges import Edges, Floats
from portfolios.matchers import KNN, Linear, Stack, find_best_single
from portfolios.matchers.asked import Asked
from portfolios.matchers.basis import Decomposed
from portfolios.matchers.columns import column_means
from portfolios.matchers.ridge import RidgeGroup
from portfolios.terms import Terms
from portfolios.thrift import thriftiest, tradeoffs

GUARD_LEVEL = 0.05
LARGE, SAMPLE = 10_000, 3_000
APGR_TABLE, APGR_LABELS = "routellm_gsm8k", 500


def main() -> None:
    """Measures every table and prints one JSON object on the last line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    folder = options.tables or Path(os.environ.get("EVOLVE_OUTCOME_DATA", "../shared/data"))
    embedder = open_embedder("fast" if options.quick else "quality")
    found: dict[str, Any] = {}
    apgr = None
    tables = list(read_tables(folder, embedder, options.cache, options.only)) if folder.is_dir() else []
    if not tables:
        print(f"no tables in {folder}: only the made-up table is measured")
    if options.only is None or "specialists" in options.only:
        tables.append(specialists(embedder))
    for table in tables:
        found[table.name] = measure(table, options.quick)
        if table.name == APGR_TABLE:
            apgr = measure_apgr(table, 1 if options.quick else 5)
        if not options.json:
            print(table.name, json.dumps(found[table.name]), flush=True)
    real = [row["gain_points"] for name, row in found.items() if name != "specialists"]
    print(json.dumps({**found, "worst_vs_best_single_points": min(real, default=None), "routellm_apgr": apgr}))


def measure(table: Table, quick: bool) -> dict[str, Any]:
    """One table over all seeds."""
    started = time.perf_counter()
    large = len(table.edges.queries) > LARGE
    if quick and large:
        table = Table(table.name, table.first(SAMPLE, 0)[0])
    seeds = 1 if quick else 2 if large else 5
    rows = [one_split(*table.split(seed), seed) for seed in range(seeds)]
    test = {key: np.concatenate([row[key] for row in rows]) for key in rows[0] if key != "routes"}
    gain, low, high = interval(test["routed"] - test["single"], test["query"])
    document = {
        "best_single": points(test["single"]),
        "routed": points(test["routed"]),
        "gain_points": gain,
        "gain_low_points": low,
        "gain_high_points": high,
        "cost_ratio": ratio(test, "routed"),
        "thrifty": {"gain_points": points(test["thrifty"] - test["single"]), "cost_ratio": ratio(test, "thrifty")},
        "others": {
            name: points(test[name]) for name in ("random", "family_lookup", "knn", "tfidf_ridge", "linear", "oracle")
        },
        "routes": sum(bool(row["routes"]) for row in rows) / len(rows),
        "queries": len(table.edges.queries),
        "members": len(table.edges.members),
        "seeds": seeds,
    }
    return {**document, "seconds": round(time.perf_counter() - started, 1)}


def one_split(known: Edges, test: Edges, seed: int) -> dict[str, Any]:
    """Scores and costs of every way to choose, by test query."""
    choice = choose(known, seed)
    default = known.members.index(find_best_single(known))
    thrifty = thrifty_weight(choice, default)
    ways = {
        "single": np.full(len(test.queries), default),
        "routed": columns_of(choice, test, 0.0),
        "thrifty": columns_of(choice, test, thrifty),
        "family_lookup": family_lookup(known, test),
        "knn": best_columns(KNN().fit(known).predict(Asked(test.embeddings, test.texts)).score),
        "linear": best_columns(Linear().fit(known).predict(Asked(test.embeddings, test.texts)).score),
        "tfidf_ridge": best_columns(tfidf_ridge(known, test)),
    }
    row: dict[str, Any] = {name: scores_at(test, columns) for name, columns in ways.items()}
    for name in ("single", "routed", "thrifty"):
        row[f"{name}_cost"] = scores_at(test, ways[name], costs=True)
    row["random"], row["oracle"] = test.scores.mean(axis=1), test.scores.max(axis=1)
    row["query"] = np.array([query.unit for query in test.queries])
    return {**row, "routes": choice.routes}


def choose(known: Edges, seed: int) -> RouterChoice:
    """The one setting that is used for all tables."""
    settings = ChoiceSettings(embedding="benchmark")
    return cross_fit_router(known, matchers=[Stack()], seed=seed, guard=router_guard(GUARD_LEVEL), settings=settings)


def thrifty_weight(choice: RouterChoice, default: int) -> float:
    """The cost weight that saves most without a loss on the unseen queries of the choice; 0 where nothing is known."""
    if not choice.routes or choice.router.edges.costs is None:
        return 0.0
    margin = choice.router.policy.margin
    best = thriftiest(tradeoffs(choice.unseen, Stack(), default, margin), choice.best_single_mean)
    return best.cost_weight if best else 0.0


def columns_of(choice: RouterChoice, test: Edges, weight: float) -> np.ndarray:
    """Whom the router sends each test query to; it is given text and embedding only."""
    decisions = choice.router.decide_many(test.texts, test.embeddings, cost_weight=weight)
    return np.array([test.members.index(decision.member) for decision in decisions])


def best_columns(score: Floats) -> np.ndarray:
    """The member with the highest prediction, no guard and no margin."""
    return np.argmax(np.round(score, 9), axis=1)


def family_lookup(known: Edges, test: Edges) -> np.ndarray:
    """The best member of the query's true group, which no router is told."""
    means = column_means(known.scores)
    best = {"": int(np.argmax(means))}
    groups = np.array([query.family for query in known.queries])
    for group in sorted(set(groups)):
        best[group] = int(np.argmax(np.round(column_means(known.scores[groups == group]), 9)))
    return np.array([best.get(query.family, best[""]) for query in test.queries])


def tfidf_ridge(known: Edges, test: Edges) -> Floats:
    """Ridge on folded TF-IDF alone, penalty by leave-one-out error."""
    terms = Terms.of(known.texts, min(300, len(known.texts) // 2))
    decomposed = Decomposed.of(terms.apply(known.texts))
    ridge, _ = RidgeGroup.fit(decomposed, known.scores, np.arange(len(known.members)))
    return ridge.mean(decomposed.basis.coordinates(terms.apply(test.texts)))


def measure_apgr(table: Table, seeds: int) -> float:
    """Average performance gap recovered over all shares of calls to the stronger of two members (Ong et al. 2024)."""
    areas = []
    for seed in range(seeds):
        known, test = table.first(APGR_LABELS, seed)
        strong = int(np.argmax(column_means(known.scores)))
        choice = choose(known, seed)
        stack = Stack(**choice_weights(choice))
        score = stack.fit(known).predict(Asked(test.embeddings, test.texts)).score
        order = np.argsort(-(score[:, strong] - score[:, 1 - strong]), kind="stable")
        gap = test.scores[:, strong] - test.scores[:, 1 - strong]
        recovered = np.concatenate([[0.0], np.cumsum(gap[order])]) / gap.sum()
        areas.append(float(np.trapezoid(recovered, np.linspace(0.0, 1.0, len(recovered)))))
    return round(float(np.mean(areas)), 3)


def choice_weights(choice: RouterChoice) -> dict[str, float]:
    """The stack's weights, whether or not the guard let it through."""
    return weights_of(list(choice.unseen.folds))


def scores_at(test: Edges, columns: np.ndarray, costs: bool = False) -> Floats:
    """Scores (or dollars, NaN where unknown) of these members on the test queries."""
    rows = np.arange(len(columns))
    if not costs:
        return test.scores[rows, columns]
    return np.full(len(columns), np.nan) if test.costs is None else test.costs[rows, columns]


def interval(differences: Floats, queries: np.ndarray) -> tuple[float, float, float]:
    """Mean and 95 % bootstrap interval in points; what one query gave under several seeds is drawn together."""
    _, place = np.unique(queries, return_inverse=True)
    total, count = np.bincount(place, differences), np.bincount(place)
    rng = np.random.default_rng(0)
    draws = rng.integers(0, len(total), (2000, len(total)))
    means = total[draws].sum(axis=1) / count[draws].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return points(differences), round(100 * float(low), 2), round(100 * float(high), 2)


def points(values: Floats) -> float:
    """The mean in points of 100."""
    return round(100 * float(np.mean(values)), 2)


def ratio(test: dict[str, Any], way: str) -> float | None:
    """Cost against that of the best single member; None where no cost is known."""
    spent, single = test[f"{way}_cost"].mean(), test["single_cost"].mean()
    return None if np.isnan(spent) or not single else round(float(spent / single), 3)


if __name__ == "__main__":
    main()
