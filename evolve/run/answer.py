"""A query through a version: decide, run the member, fall back when it fails, and say why."""

from __future__ import annotations

from dataclasses import dataclass, field

from evolve.core.errors import WorldError
from evolve.core.hashing import JSONValue, short
from evolve.core.protocols import Embedder
from evolve.core.traces import RunStatus, Spend
from evolve.run.execute import Executor, RunKey
from evolve.store import Home
from portfolios.decision import Decision
from portfolios.portfolio import PortfolioContent, open_router
from portfolios.router import Router


@dataclass(frozen=True)
class Answer:
    """What a query got: output, member and reason; `failed` lists members that failed before (they were paid too)."""

    output: JSONValue
    member: str
    decision: Decision
    spend: Spend
    seconds: float
    failed: tuple[str, ...] = ()
    errors: tuple[str, ...] = field(default=())

    @property
    def fell_back(self) -> bool:
        """Whether another member than the chosen one answered."""
        return bool(self.failed)


def open_version(home: Home, content: PortfolioContent, embedder: Embedder) -> Router:
    """The router of a version, fitted again from its stored edges."""
    return open_router(content, home.artifacts.get(content.edges_sha), embedder)


@dataclass(frozen=True, slots=True)
class Query:
    """One query. `id` is new for every asking, so that a repeated text is answered anew.

    `cost_weight` is the λ of this query alone; the version's own when None.
    """

    id: str
    value: JSONValue
    text: str
    cost_weight: float | None = None


async def answer_query(query: Query, router: Router, executor: Executor) -> Answer:
    """Answers with the chosen member, else with the fallbacks in order. WorldError when none could answer."""
    decision = router.decide(query.text, cost_weight=query.cost_weight)
    spend, seconds = Spend(), 0.0
    failed: list[str] = []
    errors: list[str] = []
    for member in (decision.member, *decision.fallbacks):
        trace = await executor.execute(RunKey(member, query.id, 0, "route"), query.value)
        spend, seconds = spend + trace.spend, seconds + trace.seconds
        if trace.status is RunStatus.FINISHED:
            return Answer(trace.output, member, decision, spend, seconds, tuple(failed), tuple(errors))
        failed.append(member)
        errors.append(f"{short(member)}: {trace.error}")
    raise WorldError(f"no member could answer: {'; '.join(errors)}")
