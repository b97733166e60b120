"""A checked workflow as a LangGraph graph, built once and run many times: the only door to langgraph in this room."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END as GRAPH_END
from langgraph.graph import START as GRAPH_START
from langgraph.graph import StateGraph
from langgraph.types import Command
from langsmith import tracing_context

from evolve.core.errors import EvolveError, HarnessFault, UserError
from evolve.core.hashing import JSONValue
from evolve.core.traces import Step
from workflows.asking.calls import Calls, Place
from workflows.asking.memo import Memo
from workflows.canonical import canonical_order
from workflows.check import check_graph
from workflows.kit import Kit, Outcome, View, WorkflowFault
from workflows.operators import OPERATORS
from workflows.operators.contract import AnyOperator, Produced
from workflows.params import OperatorParams
from workflows.routing import Route
from workflows.spec import END, Workflow

Clock = Callable[[], float]


class State(TypedDict):
    """Plain dicts only. `outputs` holds each node's last output, `visits` how often it has run."""

    input: JSONValue
    outputs: dict[str, JSONValue]
    visits: dict[str, int]
    answer: JSONValue


class _NodeFunction(Protocol):
    """The shape in which LangGraph takes a node."""

    def __call__(self, state: State, config: RunnableConfig) -> Awaitable[Command[str]]: ...


@dataclass(frozen=True, slots=True)
class _Run:
    """What one run carries beside the state: what it may use, and the steps it has made."""

    kit: Kit
    steps: list[Step]


@dataclass(frozen=True, slots=True)
class _Part:
    """One node, ready to run."""

    name: str
    index: int
    operator: AnyOperator
    params: OperatorParams
    answers: bool


class CompiledWorkflow:
    """Safe to run many times at once; runs share nothing but values derived from tree files (see `Memo`)."""

    def __init__(self, workflow: Workflow, clock: Clock) -> None:
        self.workflow = workflow
        self._clock = clock
        self._memo = Memo()
        self._route = Route(workflow)
        self._names = frozenset(workflow.nodes)
        self._limit = len(workflow.nodes) * workflow.max_visits + 1
        self._graph = self._build()

    async def run(self, input: JSONValue, kit: Kit, *, steps: list[Step] | None = None) -> Outcome:
        """One run. Raises WorkflowFault for the workflow's own failures; WorldError and BudgetExceeded pass through.

        `steps` receives each step as it ends, so that a caller who cancels the run, or sees it fail, still has them.
        """
        run = _Run(kit, steps if steps is not None else [])
        state: State = {"input": input, "outputs": {}, "visits": {}, "answer": None}
        config: RunnableConfig = {"recursion_limit": self._limit, "configurable": {"run": run}}
        try:
            # Without this, tracing variables meant for other programs would send every input to a service.
            with tracing_context(enabled=False):
                final = await self._graph.ainvoke(state, config)
        except HarnessFault as fault:
            raise WorkflowFault(f"{run.steps[-1].node}: {fault}", tuple(run.steps)) from fault
        return Outcome(final["answer"], tuple(run.steps))

    def _build(self) -> Any:
        graph = StateGraph(State)
        for index, name in enumerate(canonical_order(self.workflow)):
            targets = tuple(_graph_name(target) for target in self.workflow.successors(name))
            graph.add_node(_graph_name(name), self._node_function(self._part(name, index)), destinations=targets)
        graph.add_edge(GRAPH_START, _graph_name(self.workflow.start))
        return graph.compile()

    def _part(self, name: str, index: int) -> _Part:
        node = self.workflow.nodes[name]
        operator = OPERATORS[node.operator]
        answers = operator.answers if self.workflow.output is None else self.workflow.output == name
        return _Part(name, index, operator, operator.params.model_validate(node.params), answers)

    def _node_function(self, part: _Part) -> _NodeFunction:
        async def visit(state: State, config: RunnableConfig) -> Command[str]:
            run: _Run = config["configurable"]["run"]
            visits = {**state["visits"], part.name: state["visits"].get(part.name, 0) + 1}
            produced = await self._visit(part, state, visits[part.name], run)
            target = self._route.next(part.name, produced.outcome, visits)
            update: dict[str, JSONValue] = {
                "outputs": {**state["outputs"], part.name: produced.output},
                "visits": visits,
            }
            if part.answers:
                update["answer"] = produced.output
            return Command(goto=_graph_name(target), update=update)

        return visit

    async def _visit(self, part: _Part, state: State, visit: int, run: _Run) -> Produced:
        """Runs the operator; makes exactly one step, however the visit ends."""
        calls = Calls(run.kit, self._memo, Place(part.name, part.index, visit))
        view = View(state["input"], state["outputs"], self._names)
        started, output, error = self._clock(), None, "stopped before it ended"
        try:
            produced = await part.operator.run(part.params, view, calls)
            output, error = produced.output, ""
        except EvolveError as failure:
            error = str(failure)
            raise
        finally:
            seconds = self._clock() - started
            step = Step(part.name, part.operator.name, visit, seconds, output, error, calls.count, calls.usage)
            run.steps.append(step)
        return produced


def compile_workflow(workflow: Workflow, *, clock: Clock = time.monotonic) -> CompiledWorkflow:
    """The workflow, ready to run; costs milliseconds, so the caller keeps it. UserError for an unsound graph."""
    problems = check_graph(workflow)
    if problems:
        first = problems[0]
        place = f"workflow.yaml: {first.node}" if first.node else "workflow.yaml"
        raise UserError(first.message, place=place, fix=first.fix)
    return CompiledWorkflow(workflow, clock)


def _graph_name(node: str) -> str:
    """LangGraph refuses nodes that are called like a key of the state, so ours get a prefix that no key has."""
    return GRAPH_END if node == END else f"node.{node}"
