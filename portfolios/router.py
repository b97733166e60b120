"""Router: sends a query to the member that is expected to serve it best, or to the default when that is not sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from evolve.core.errors import UserError
from evolve.core.hashing import short
from evolve.core.protocols import Embedder
from portfolios.decision import Decision, Estimate, KnownCase, Rule
from portfolios.edges import Edges, Floats, Vectors
from portfolios.familiar import Familiarity
from portfolios.matchers.best_single import NEIGHBOURS
from portfolios.matchers.protocol import FittedMatcher, Matcher, Prediction
from portfolios.recipe import RouterPolicy

__all__ = ["Decision", "Router"]


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
        if self.policy.cost_weight > 0 and self.edges.costs is None:
            raise UserError("a cost weight is set but no cost is known", place="cost_weight", fix="set it to 0")

    @classmethod
    def fit(cls, edges: Edges, matcher: Matcher, policy: RouterPolicy) -> Router:
        """Fits `matcher` on training edges, brought into their canonical order first."""
        edges = edges.in_order()
        return cls(edges, matcher, matcher.fit(edges), policy, Familiarity.of(edges, policy.far_quantile))

    @property
    def members(self) -> tuple[str, ...]:
        """The member trees, sorted."""
        return self.edges.members

    def decide(self, text: str, embedding: Vectors | None = None) -> Decision:
        """The decision for one query; `embedding` (d,) is computed by the router's embedder when not given."""
        if embedding is None:
            if self.embedder is None:
                raise UserError("this router has no embedder", fix="pass the query's embedding, or open it with one")
            embedding = self.embedder.embed([text])[0]
        return self.decide_many([text], np.asarray(embedding, np.float32)[None, :])[0]

    def decide_many(self, texts: Sequence[str], embeddings: Vectors) -> tuple[Decision, ...]:
        """One decision for each of q queries with `embeddings` (q, d)."""
        if not texts:
            return ()
        prediction = self.fitted.predict(embeddings, texts)
        values = self._values(prediction)
        return tuple(self._decide(text, row, prediction, values) for row, text in enumerate(texts))

    def _values(self, prediction: Prediction) -> Floats:
        """(1 − λ)·score + λ·(1 − normalised cost); an unknown cost counts as the dearest, a NaN score as never."""
        weight = self.policy.cost_weight
        score = np.where(np.isnan(prediction.score), -np.inf, prediction.score)
        if weight == 0.0 or prediction.cost is None or self.edges.costs is None:
            return score
        low, high = np.nanmin(self.edges.costs), np.nanmax(self.edges.costs)
        cost = np.nan_to_num((prediction.cost - low) / max(float(high - low), 1e-12), nan=1.0)
        return np.asarray((1.0 - weight) * score + weight * (1.0 - np.clip(cost, 0.0, 1.0)), np.float64)

    def _decide(self, text: str, row: int, prediction: Prediction, values: Floats) -> Decision:
        """Chooses, then gathers what explains the choice."""
        choice = self._choose(text, row, prediction, values)
        member = self.members[choice.column]
        return Decision(
            member=member,
            rule=choice.rule,
            reason=f"{self._name(member)}: {choice.reason}",
            estimates=tuple(self._estimate(row, j, prediction) for j in range(len(self.members))),
            margin=choice.margin,
            margin_sd=choice.margin_sd,
            nearest=self._nearest(row, prediction),
            fallbacks=self._fallbacks(choice.column, values[row]),
        )

    def _choose(self, text: str, row: int, prediction: Prediction, values: Floats) -> _Choice:
        default = self.members.index(self.policy.default_member)
        if not text.strip():
            return _Choice(default, Rule.EMPTY, "the query is empty, so it goes to the default")
        if self.matcher.name == "best_single":
            return _Choice(default, Rule.BEST_SINGLE, "every query goes to the best single member")
        similarities = prediction.neighbours.similarities[row]
        far = self.familiarity.why_far(text, float(similarities[0]) if len(similarities) else -1.0)
        if far:
            return _Choice(default, Rule.FAR, f"the query is far from everything seen: {far}")
        return self._weigh(row, default, prediction, values[row])

    def _weigh(self, row: int, default: int, prediction: Prediction, values: Floats) -> _Choice:
        """Leaves the default only for an advantage that exceeds its uncertainty."""
        rivals = [j for j in range(len(values)) if j != default and np.isfinite(values[j])]
        if not rivals:
            return _Choice(default, Rule.MATCHER, "no other member has training edges")
        best = max(rivals, key=lambda j: (round(float(values[j]), 9), -j))
        margin = float(values[best] - values[default])
        sd = (1.0 - self.policy.cost_weight) * prediction.advantage_sd(row, best, default)
        what = "value (score less cost)" if self.policy.cost_weight else "score"
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
        pairs = zip(near.rows[row][:NEIGHBOURS], near.similarities[row][:NEIGHBOURS], strict=True)
        queries = [(self.edges.queries[int(i)], float(s)) for i, s in pairs]
        return tuple(KnownCase(query.case_id, query.text, similarity) for query, similarity in queries)

    def _fallbacks(self, chosen: int, values: Floats) -> tuple[str, ...]:
        """The default first, then the others by expected value; never a member without training edges."""
        default = self.members.index(self.policy.default_member)
        others = [j for j in range(len(values)) if j not in (chosen, default) and np.isfinite(values[j])]
        others.sort(key=lambda j: (-round(float(values[j]), 9), j))
        first = [] if chosen == default else [default]
        return tuple(self.members[j] for j in [*first, *others])


@dataclass(frozen=True, slots=True)
class _Choice:
    column: int
    rule: Rule
    reason: str
    margin: float | None = None
    margin_sd: float | None = None


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
