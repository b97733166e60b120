"""Router: sends a query to the member that is expected to serve it best, or to the default when that is not sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from evolve.core.errors import UserError
from evolve.core.hashing import short
from evolve.core.protocols import Embedder
from portfolios.decision import Decision, Estimate, KnownCase, Rule
from portfolios.edges import Edges, Floats, Vectors
from portfolios.familiar import Familiarity
from portfolios.margins import Advantage, CostScale, advantages, values_of
from portfolios.matchers.asked import Asked
from portfolios.matchers.protocol import FittedMatcher, Matcher, Prediction
from portfolios.recipe import RouterPolicy

__all__ = ["Decision", "Router"]

_SHOWN = 3
"""How many of the nearest known cases explain a decision."""


@dataclass(frozen=True, eq=False)
class Router:
    """A fitted matcher under a policy. Build with `Router.fit`.

    The text of a query is data: it is embedded and measured, never read as an instruction. A member without training
    edges is never named.
    """

    edges: Edges
    matcher: Matcher
    fitted: FittedMatcher
    policy: RouterPolicy
    familiarity: Familiarity
    embedder: Embedder | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        default = self.policy.default_member
        if default not in self.edges.members or not self.edges.counts[self.edges.members.index(default)]:
            raise UserError(f"the default member {default} has no training edges", fix="evaluate it on train first")
        self._check_weight(self.policy.cost_weight)

    @classmethod
    def fit(cls, edges: Edges, matcher: Matcher, policy: RouterPolicy) -> Router:
        """Fits `matcher` on training edges, brought into their canonical order first."""
        edges = edges.in_order()
        return cls(edges, matcher, matcher.fit(edges), policy, Familiarity.of(edges, policy.far_quantile))

    @property
    def members(self) -> tuple[str, ...]:
        """The member trees, sorted."""
        return self.edges.members

    @cached_property
    def cost_scale(self) -> CostScale | None:
        """How dollars are scaled; None when no cost is known."""
        return CostScale.of(self.edges.costs)

    def decide(self, text: str, embedding: Vectors | None = None, *, cost_weight: float | None = None) -> Decision:
        """The decision for one query; `embedding` (d,) is computed by the router's embedder when not given.

        `cost_weight` is this query's λ in [0, 1), instead of the policy's.
        """
        if embedding is None:
            if self.embedder is None:
                raise UserError("this router has no embedder", fix="pass the query's embedding, or open it with one")
            embedding = self.embedder.embed([text])[0]
        rows = np.asarray(embedding, np.float32)[None, :]
        return self.decide_many([text], rows, cost_weight=cost_weight)[0]

    def decide_many(
        self, texts: Sequence[str], embeddings: Vectors, *, cost_weight: float | None = None
    ) -> tuple[Decision, ...]:
        """One decision for each of q queries with `embeddings` (q, d)."""
        weight = self.policy.cost_weight if cost_weight is None else cost_weight
        self._check_weight(weight)
        if not texts:
            return ()
        prediction = self.fitted.predict(Asked(embeddings, texts))
        values = values_of(prediction, weight, self.cost_scale)
        default = self.members.index(self.policy.default_member)
        asked = _Asked(prediction, values, advantages(prediction, values, default, weight), default, weight)
        return tuple(self._decide(text, row, asked) for row, text in enumerate(texts))

    def _check_weight(self, weight: float) -> None:
        if not 0.0 <= weight < 1.0:
            raise UserError(f"a cost weight of {weight:g} is out of range", place="cost_weight", fix="0 <= weight < 1")
        if weight > 0 and self.cost_scale is None:
            raise UserError("a cost weight is set but no cost is known", place="cost_weight", fix="set it to 0")

    def _decide(self, text: str, row: int, asked: _Asked) -> Decision:
        """Chooses, then gathers what explains the choice."""
        choice = self._choose(text, row, asked)
        member = self.members[choice.column]
        return Decision(
            member=member,
            rule=choice.rule,
            reason=f"{self._name(member)}: {choice.reason}",
            estimates=tuple(self._estimate(row, j, asked.prediction) for j in range(len(self.members))),
            margin=choice.margin,
            margin_sd=choice.margin_sd,
            nearest=self._nearest(row, asked.prediction),
            fallbacks=self._fallbacks(choice.column, asked.values[row]),
        )

    def _choose(self, text: str, row: int, asked: _Asked) -> _Choice:
        default = asked.default
        if not text.strip():
            return _Choice(default, Rule.EMPTY, "the query is empty, so it goes to the default")
        if self.matcher.name == "best_single":
            return _Choice(default, Rule.BEST_SINGLE, "every query goes to the best single member")
        similarities = asked.prediction.neighbours.similarities[row]
        far = self.familiarity.why_far(text, float(similarities[0]) if len(similarities) else -1.0)
        if far:
            return _Choice(default, Rule.FAR, f"the query is far from everything seen: {far}")
        return self._weigh(row, asked)

    def _weigh(self, row: int, asked: _Asked) -> _Choice:
        """Leaves the default only for an advantage that exceeds its uncertainty."""
        default, values = asked.default, asked.values[row]
        margin, sd = float(asked.advantage.margin[row]), float(asked.advantage.sd[row])
        if not np.isfinite(margin):
            return _Choice(default, Rule.MATCHER, "no other member has training edges")
        best = int(asked.advantage.rival[row])
        what = f"value (score less cost, weight {asked.cost_weight:g})" if asked.cost_weight else "score"
        against = (
            f"expected {what} {values[best]:.2f} for {self._name(self.members[best])} against "
            f"{values[default]:.2f} for the default"
        )
        if margin <= 0.0:
            return _Choice(default, Rule.MATCHER, f"nobody is expected to do better than it: {against}", margin, sd)
        if margin <= self.policy.margin * sd:
            doubt = f"an advantage of {margin:.2f} is within its uncertainty of {self.policy.margin * sd:.2f}"
            return _Choice(default, Rule.MARGIN, f"{against}: {doubt}, so it goes to the default", margin, sd)
        return _Choice(best, Rule.MATCHER, f"{against}: an advantage of {margin:.2f} ± {sd:.2f}", margin, sd)

    def _name(self, member: str) -> str:
        return self.labels.get(member) or short(member)

    def _estimate(self, row: int, column: int, prediction: Prediction) -> Estimate:
        cost = None if prediction.cost is None else _known(prediction.cost[row, column])
        score, sd = _known(prediction.score[row, column]), _known(prediction.sd[row, column])
        return Estimate(self.members[column], score, sd, cost)

    def _nearest(self, row: int, prediction: Prediction) -> tuple[KnownCase, ...]:
        near = prediction.neighbours
        pairs = zip(near.rows[row][:_SHOWN], near.similarities[row][:_SHOWN], strict=True)
        queries = [(self.edges.queries[int(i)], float(s)) for i, s in pairs]
        return tuple(KnownCase(query.case_id, query.text, similarity) for query, similarity in queries)

    def _fallbacks(self, chosen: int, values: Floats) -> tuple[str, ...]:
        """The default first, then the others by expected value; never a member without training edges."""
        default = self.members.index(self.policy.default_member)
        others = [j for j in range(len(values)) if j not in (chosen, default) and np.isfinite(values[j])]
        others.sort(key=lambda j: (-round(float(values[j]), 9), j))
        first = [] if chosen == default else [default]
        return tuple(self.members[j] for j in [*first, *others])


@dataclass(frozen=True, eq=False)
class _Asked:
    """Everything that was worked out for the queries of one call."""

    prediction: Prediction
    values: Floats
    advantage: Advantage
    default: int
    cost_weight: float


@dataclass(frozen=True, slots=True)
class _Choice:
    column: int
    rule: Rule
    reason: str
    margin: float | None = None
    margin_sd: float | None = None


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
