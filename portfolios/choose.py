"""Choosing a router: fitted on train, chosen on dev, and kept only if a paired test says it beats the best single."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evolve.core.errors import UserError
from evolve.core.hashing import derive_seed, short
from portfolios.edges import Edges, Floats
from portfolios.matchers import BestSingle, Matcher, find_best_single
from portfolios.recipe import RouterPolicy, RouterRecipe
from portfolios.router import Router


@dataclass(frozen=True, slots=True)
class GuardResult:
    """What a paired test said of routed against best single: `gain` and its lower bound in score units."""

    passed: bool
    gain: float
    low: float | None
    reason: str


Guard = Callable[[Sequence[float], Sequence[float], Sequence[str]], GuardResult]
"""(routed scores, best single scores, unit ids), aligned and in one fixed shuffled order → does routed beat it?"""


@dataclass(frozen=True, slots=True)
class ChoiceSettings:
    """`embedding` is the identity of the embedder behind the edges; `margins` are tried on dev, see RouterPolicy.

    The more careful margin wins a tie. A margin of 0 is left out by default: on real outcome tables it moves most
    queries for no more gain, and is the one that passes a guard by luck.
    """

    embedding: str
    margins: tuple[float, ...] = (1.0, 0.5)
    far_quantile: float = 0.01
    cost_weight: float = 0.0


@dataclass(frozen=True, slots=True)
class Trial:
    """One matcher under one margin on dev: mean score, and the share of queries it took from the best single."""

    matcher: str
    margin: float
    mean: float
    moved: float


@dataclass(frozen=True)
class RouterChoice:
    """The router to use, and the dev numbers (means in [0, 1]) behind it.

    `routed_mean` is that of the best trial, whether or not the guard let it through; `oracle_mean` is what the best
    member of each case reaches. `missing` counts dev pairs without a number, each held against the router.
    """

    router: Router
    recipe: RouterRecipe
    best_single: str
    best_single_mean: float
    routed_mean: float
    oracle_mean: float
    trials: tuple[Trial, ...]
    guard: GuardResult | None
    missing: int
    reason: str

    @property
    def routes(self) -> bool:
        """Whether a matcher was let through; otherwise every query goes to the best single."""
        return self.router.matcher.name != "best_single"


def choose_router(
    train: Edges,
    dev: Edges,
    *,
    matchers: Sequence[Matcher],
    seed: int,
    guard: Guard,
    settings: ChoiceSettings,
) -> RouterChoice:
    """Fits each matcher on `train`, picks matcher and margin by routed mean on `dev`, then asks `guard`.

    The best single is the best member on dev among those with train edges: it is as lucky as the router's own choice,
    so the comparison is not tilted to the router. `seed` fixes the order in which `guard` sees the pairs. UserError
    when dev is empty or lacks a member of train.
    """
    train = train.in_order()
    dev = _aligned(train, dev, seed)
    usable = [tree for tree, count in zip(train.members, train.counts, strict=True) if count]
    single = find_best_single(dev, usable)
    policy = RouterPolicy(default_member=single, far_quantile=settings.far_quantile, cost_weight=settings.cost_weight)
    fallback = Router.fit(train, BestSingle(), policy)
    tried = _try_all(fallback, dev, matchers, settings.margins)
    best = min(tried, key=lambda t: -round(t.trial.mean, 9)) if tried else None
    verdict = _ask(guard, best.pairs, dev) if best and best.trial.moved > 0 else None
    router = best.router if best and verdict and verdict.passed else fallback
    single_scores = dev.scores[:, dev.members.index(single)]
    return RouterChoice(
        router=router,
        recipe=_recipe(router, seed, settings),
        best_single=single,
        best_single_mean=_mean(single_scores),
        routed_mean=best.trial.mean if best else _mean(single_scores),
        oracle_mean=_mean(np.nan_to_num(dev.scores, nan=0.0).max(axis=1)),
        trials=tuple(t.trial for t in tried),
        guard=verdict,
        missing=best.pairs.missing if best else int(np.isnan(single_scores).sum()),
        reason=_reason(best, verdict, _mean(single_scores), single),
    )


def _recipe(router: Router, seed: int, settings: ChoiceSettings) -> RouterRecipe:
    return RouterRecipe(
        matcher=router.matcher.name,
        settings=dict(router.matcher.settings),
        seed=seed,
        embedding=settings.embedding,
        edge_set_hash=router.edges.edge_set_hash,
    )


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Routed and single scores with every missing pair counted against the router; equal where it did not move."""

    routed: Floats
    single: Floats
    missing: int


@dataclass(frozen=True, eq=False)
class _Tried:
    router: Router
    trial: Trial
    pairs: _Pairs


def _aligned(train: Edges, dev: Edges, seed: int) -> Edges:
    """Dev with the columns of train, rows in an order that only the seed and the cases decide."""
    dev = dev.of_members(train.members).in_order()
    if not dev.queries:
        raise UserError("there are no dev cases to choose a router on", fix="give dev a share of the cases")
    rows = sorted(range(len(dev.queries)), key=lambda i: derive_seed(seed, "guard order", dev.queries[i].fingerprint))
    return dev.take(rows, range(len(dev.members)))


def _try_all(fallback: Router, dev: Edges, matchers: Sequence[Matcher], margins: Sequence[float]) -> list[_Tried]:
    """Every matcher under every margin, the most careful margin of a matcher first."""
    tried = []
    for matcher in matchers:
        if matcher.name == "best_single" or len(fallback.members) < 2:
            continue
        fitted = matcher.fit(fallback.edges)
        for margin in sorted(margins, reverse=True):
            policy = fallback.policy.model_copy(update={"margin": margin})
            tried.append(_try(replace(fallback, matcher=matcher, fitted=fitted, policy=policy), dev))
    return tried


def _try(router: Router, dev: Edges) -> _Tried:
    decisions = router.decide_many(dev.texts, dev.embeddings)
    columns = np.array([dev.members.index(decision.member) for decision in decisions])
    default = dev.members.index(router.policy.default_member)
    routed, single = dev.scores[np.arange(len(columns)), columns], dev.scores[:, default]
    moved = columns != default
    missing = np.isnan(routed) | np.isnan(single)
    pairs = _Pairs(
        np.nan_to_num(routed, nan=0.0),
        np.where(np.isnan(single), moved.astype(np.float64), single),
        int(missing.sum()),
    )
    return _Tried(router, Trial(router.matcher.name, router.policy.margin, _mean(routed), float(moved.mean())), pairs)


def _ask(guard: Guard, pairs: _Pairs, dev: Edges) -> GuardResult:
    return guard(pairs.routed.tolist(), pairs.single.tolist(), dev.units)


def _mean(values: Floats) -> float:
    present = values[~np.isnan(values)]
    return float(present.mean()) if len(present) else 0.0


def _reason(best: _Tried | None, verdict: GuardResult | None, single_mean: float, single: str) -> str:
    name, points = short(single), 100 * single_mean
    if best is None:
        return f"no matcher was tried, so every query goes to {name} ({points:.1f} points on dev)"
    trial = best.trial
    routed = f"{trial.matcher} reaches {100 * trial.mean:.1f} points on dev"
    numbers = f"{routed}, the best single member {name} {points:.1f}"
    if verdict is None:
        return f"{numbers}: it sends no query elsewhere, so every query goes to {name}"
    if verdict.passed:
        return f"{numbers}: the guard let it through ({verdict.reason})"
    return f"{numbers}: the guard did not let it through ({verdict.reason}), so every query goes to {name}"
