"""The static check: everything that can be known to be wrong with a workflow before anything is spent."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from evolve.core.messages import Capability
from workflows.canonical import live_branches, node_params
from workflows.graph import Edges, can_finish, cycle_through, edges_of, visit_order
from workflows.names import nearest_hint
from workflows.operators import OPERATORS
from workflows.params import OperatorParams
from workflows.spec import END, Node, Workflow


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with which node (empty: the whole workflow), and what to do about it."""

    node: str
    message: str
    fix: str = ""

    def __str__(self) -> str:
        head = f"node {self.node}: {self.message}" if self.node else self.message
        return f"{head} ({self.fix})" if self.fix else head


def check_workflow(
    workflow: Workflow, *, files: Collection[str], tools: Collection[str], roles: Collection[str]
) -> list[Problem]:
    """All problems, those of the graph first; none for a workflow that can run with these files, tools and roles."""
    problems = check_graph(workflow)
    for name, params in valid_params(workflow).items():
        problems += [
            Problem(name, f"{use.param}: the tree has no file {use.path!r}", nearest_hint(use.path, files))
            for use in params.files()
            if use.path not in files
        ]
        problems += [
            Problem(name, f"no model has the role {role!r}", nearest_hint(role, roles))
            for role in params.roles()
            if role not in roles
        ]
        problems += _check_tools(name, params, tools)
    return problems


def check_graph(workflow: Workflow) -> list[Problem]:
    """The problems that need nothing but the workflow. Without any, every run is bounded and has an answer."""
    problems = [problem for name, node in workflow.nodes.items() for problem in _check_node(workflow, name, node)]
    if workflow.start not in workflow.nodes:
        hint = nearest_hint(workflow.start, workflow.nodes)
        return [Problem("", f"start names {workflow.start!r}, which is no node", hint), *problems]
    edges = edges_of(workflow)
    problems += _check_reach(workflow, edges)
    if not problems:
        problems += _check_output(workflow, edges)
    return problems


def check_capabilities(workflow: Workflow, models: Mapping[str, Collection[Capability]]) -> list[Problem]:
    """Nodes whose model lacks what their operator needs. `models` is role → capabilities."""
    return [
        Problem(name, f"{workflow.nodes[name].operator} needs {need.value}, which the model of role {role!r} lacks")
        for name, params in valid_params(workflow).items()
        for role in params.roles()
        if role in models
        for need in sorted(params.needs() - set(models[role]))
    ]


def valid_params(workflow: Workflow) -> dict[str, OperatorParams]:
    """The parsed parameters of every node whose operator accepts them."""
    found = {}
    for name, node in workflow.nodes.items():
        operator = OPERATORS.get(node.operator)
        if operator is not None:
            try:
                found[name] = operator.params.model_validate(node.params)
            except ValidationError:
                continue
    return found


def _check_node(workflow: Workflow, name: str, node: Node) -> Iterator[Problem]:
    for target in workflow.successors(name):
        if target != END and target not in workflow.nodes:
            hint = nearest_hint(target, [*workflow.nodes, END])
            yield Problem(name, f"next names {target!r}, which is no node", hint)
    for param, other in node_params(node).items():
        if other not in workflow.nodes:
            yield Problem(name, f"{param} names {other!r}, which is no node", nearest_hint(other, workflow.nodes))
    operator = OPERATORS.get(node.operator)
    if operator is None:
        yield Problem(name, f"unknown operator {node.operator!r}", nearest_hint(node.operator, OPERATORS))
        return
    yield from _check_params(name, node, operator.params)
    yield from _check_branches(name, node, operator.outcomes)


def _check_params(name: str, node: Node, model: type[OperatorParams]) -> Iterator[Problem]:
    try:
        model.model_validate(node.params)
    except ValidationError as error:
        known = [field.alias or key for key, field in model.model_fields.items()]
        for found in error.errors(include_url=False, include_input=False):
            key = ".".join(str(part) for part in found["loc"])
            if found["type"] == "extra_forbidden" and len(found["loc"]) == 1:
                yield Problem(name, f"{node.operator} has no parameter {key!r}", nearest_hint(key, known))
            else:
                yield Problem(name, f"params.{key}: {found['msg']}" if key else str(found["msg"]))


def _check_branches(name: str, node: Node, outcomes: tuple[str, ...]) -> Iterator[Problem]:
    for branch in node.next:
        if branch.when is not None and branch.when not in outcomes:
            hint = nearest_hint(branch.when, outcomes)
            yield Problem(name, f"{node.operator} never has the outcome {branch.when!r}", hint)
    live = live_branches(node)
    for at, branch in enumerate(node.next):
        if not any(branch is kept for kept in live):
            yield Problem(name, f"branch {at + 1} (to {branch.to!r}) is never taken", "an earlier branch always wins")
    covered = {branch.when for branch in live}
    left = [outcome for outcome in outcomes if outcome not in covered]
    if None not in covered and left:
        yield Problem(name, f"no branch for the outcome {left[0]!r}", "end the list with a branch without `when`")


def _check_reach(workflow: Workflow, edges: Edges) -> Iterator[Problem]:
    reached = visit_order(edges, workflow.start)
    for name in workflow.nodes:
        if name not in reached:
            yield Problem(name, "cannot be reached from start", "lead a branch to it or delete it")
        elif not can_finish(edges, name):
            cycle = cycle_through(edges, name)
            if cycle:
                loop = " → ".join((*cycle, name))
                yield Problem(name, f"the cycle {loop} has no exit", "add a branch that leads to end")
            else:
                yield Problem(name, "end cannot be reached from here", "lead a branch to end")


def _check_output(workflow: Workflow, edges: Edges) -> Iterator[Problem]:
    if workflow.output is None:
        silent = [name for name, node in workflow.nodes.items() if not OPERATORS[node.operator].answers]
        answering = set(workflow.nodes) - set(silent)
        if can_finish(edges, workflow.start, without=answering):
            yield Problem(workflow.start, "a run can reach end without any node that gives an answer")
    elif workflow.output not in workflow.nodes:
        hint = nearest_hint(workflow.output, workflow.nodes)
        yield Problem("", f"output names {workflow.output!r}, which is no node", hint)
    elif can_finish(edges, workflow.start, without=(workflow.output,)):
        fix = "lead every path through it, or leave output out"
        yield Problem(workflow.output, "output names this node, but a run can reach end without it", fix)


def _check_tools(name: str, params: OperatorParams, tools: Collection[str]) -> Iterator[Problem]:
    wanted = params.tool_names()
    if wanted is None:
        return
    if not tools:
        yield Problem(name, "the harness has no tools to choose from", "declare tools, or use another operator")
        return
    for tool in wanted:
        if tool not in tools:
            yield Problem(name, f"unknown tool {tool!r}", nearest_hint(tool, tools))
