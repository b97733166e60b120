"""Choosing a router: matcher and margin by queries the fit has not seen, kept only if a paired test says it gains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evolve.core.errors import UserError
from evolve.core.hashing import short
from portfolios.crossfit import Fold, Weights, folds_of, weights_of, weights_without
from portfolios.edges import Edges
from portfolios.matchers import BestSingle, Matcher, find_best_single, open_matcher
from portfolios.recipe import RouterPolicy, RouterRecipe
from portfolios.router import Router
from portfolios.trials import Trial, Tried, Unseen, mean_of, pair_up, try_all


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
    """`embedding` is the identity of the embedder behind the edges; `margins` are tried, see RouterPolicy.

    The more careful margin wins a tie. `folds` is how often the fit edges are divided to learn the weights of a stack.
    """

    embedding: str
    margins: tuple[float, ...] = (1.0, 0.5, 0.25)
    far_quantile: float = 0.01
    cost_weight: float = 0.0
    folds: int = 5


@dataclass(frozen=True)
class RouterChoice:
    """The router to use, and the numbers (means in [0, 1] over unseen queries) behind it.

    `routed_mean` is that of the best trial, whether or not the guard let it through; `oracle_mean` is what the best
    member of each case reaches. `missing` counts pairs without a number, each held against the router. `unseen` holds
    the queries and predictions that it was judged by.
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
    unseen: Unseen

    @property
    def routes(self) -> bool:
        """Whether a matcher was let through; otherwise every query goes to the best single."""
        return self.router.matcher.name != "best_single"


def choose_router(
    train: Edges, dev: Edges, *, matchers: Sequence[Matcher], seed: int, guard: Guard, settings: ChoiceSettings
) -> RouterChoice:
    """Fits each matcher on `train`, picks matcher and margin by routed mean on `dev`, then asks `guard` about dev.

    The weights of a stack come from folds of train. The best single is the best member on dev among those with train
    edges: it is as lucky as the router's own choice, so the comparison is not tilted to the router. `seed` fixes folds
    and the order in which `guard` sees the pairs. UserError when dev is empty or lacks a member of train.
    """
    train = train.in_order()
    dev = dev.of_members(train.members).in_order()
    if not dev.queries:
        raise UserError("there are no dev cases to choose a router on", fix="give dev a share of the cases")
    weights = weights_of(folds_of(train, settings.folds, seed)) if _stacks(matchers) else {}
    unseen = Unseen([Fold(train, dev)], [weights], settings.far_quantile, settings.cost_weight)
    return _choose(train, unseen, weights, matchers, _Judge(guard, seed, settings))


def cross_fit_router(
    edges: Edges, *, matchers: Sequence[Matcher], seed: int, guard: Guard, settings: ChoiceSettings
) -> RouterChoice:
    """As `choose_router`, with every query of `edges` as an unseen one in its turn, then fitted on all of them.

    Only for members that were not selected by these very scores: for them every query is fresh evidence, and the guard
    sees several times as many pairs.
    """
    edges = edges.in_order()
    folds = folds_of(edges, settings.folds, seed)
    if not folds:
        raise UserError("one unit of cases is too few to choose a router on", fix="bring cases of more groups")
    stacks = _stacks(matchers)
    without: list[Weights] = weights_without(folds) if stacks else [{} for _ in folds]
    unseen = Unseen(folds, without, settings.far_quantile, settings.cost_weight)
    return _choose(edges, unseen, weights_of(folds) if stacks else {}, matchers, _Judge(guard, seed, settings))


@dataclass(frozen=True)
class _Judge:
    guard: Guard
    seed: int
    settings: ChoiceSettings


def _stacks(matchers: Sequence[Matcher]) -> bool:
    return any(matcher.name == "stack" for matcher in matchers)


def _choose(edges: Edges, unseen: Unseen, weights: Weights, matchers: Sequence[Matcher], judge: _Judge) -> RouterChoice:
    """`edges` and `weights` are what the chosen router is fitted with."""
    usable = [tree for tree, count in zip(edges.members, edges.counts, strict=True) if count]
    single = find_best_single(unseen.edges, usable)
    default = edges.members.index(single)
    tried = try_all(unseen, matchers, judge.settings.margins, default)
    best = min(tried, key=lambda t: -round(t.worth, 9)) if tried else None
    columns = best.columns if best else np.full(len(unseen.edges.queries), default)
    pairs = pair_up(unseen, columns, default, judge.seed)
    asked = best is not None and best.trial.moved > 0
    verdict = judge.guard(pairs.routed.tolist(), pairs.single.tolist(), pairs.units) if asked else None
    router = _router(edges, best if verdict and verdict.passed else None, weights, single, judge.settings)
    single_mean = mean_of(unseen.edges.scores[:, default])
    return RouterChoice(
        router=router,
        recipe=_recipe(router, judge),
        best_single=single,
        best_single_mean=single_mean,
        routed_mean=best.trial.mean if best else single_mean,
        oracle_mean=mean_of(np.nan_to_num(unseen.edges.scores, nan=0.0).max(axis=1)),
        trials=tuple(t.trial for t in tried),
        guard=verdict,
        missing=pairs.missing,
        reason=_reason(best, verdict, single_mean, single),
        unseen=unseen,
    )


def _router(edges: Edges, kept: Tried | None, weights: Weights, single: str, settings: ChoiceSettings) -> Router:
    """The kept matcher under its margin, or the best single for every query."""
    policy = RouterPolicy(default_member=single, far_quantile=settings.far_quantile, cost_weight=settings.cost_weight)
    if kept is None:
        return Router.fit(edges, BestSingle(), policy)
    matcher = open_matcher("stack", weights) if kept.matcher.name == "stack" else kept.matcher
    return Router.fit(edges, matcher, policy.model_copy(update={"margin": kept.trial.margin}))


def _recipe(router: Router, judge: _Judge) -> RouterRecipe:
    return RouterRecipe(
        matcher=router.matcher.name,
        settings=dict(router.matcher.settings),
        seed=judge.seed,
        embedding=judge.settings.embedding,
        edge_set_hash=router.edges.edge_set_hash,
    )


def _reason(best: Tried | None, verdict: GuardResult | None, single_mean: float, single: str) -> str:
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
