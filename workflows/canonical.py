"""The canonical form of a workflow and its hash: what it does, whatever its nodes are called."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from evolve.core.hashing import JSONValue, content_hash
from workflows.graph import edges_of, visit_order
from workflows.operators import OPERATORS
from workflows.spec import END, Branch, Node, Workflow


def canonical_order(workflow: Workflow) -> tuple[str, ...]:
    """Reachable nodes breadth first from `start`, in branch order: a numbering that does not look at names."""
    if workflow.start not in workflow.nodes:
        return ()
    return tuple(name for name in visit_order(edges_of(workflow), workflow.start) if name != END)


def canonical_form(workflow: Workflow) -> JSONValue:
    """Nodes by number, parameters with their defaults, no branch behind an unconditional one, no unreachable node."""
    numbers: dict[str, JSONValue] = {name: i for i, name in enumerate(canonical_order(workflow))}
    numbers[END] = END
    return {
        "nodes": [_node_form(workflow.nodes[name], numbers) for name in numbers if name != END],
        "max_visits": workflow.max_visits,
        "output": None if workflow.output is None else _number(workflow.output, numbers),
    }


def workflow_hash(workflow: Workflow) -> str:
    """64 hex digits. Renaming nodes or reordering keys does not change it. Prompt files are the tree's to hash."""
    return content_hash(canonical_form(workflow))


def full_params(node: Node) -> dict[str, JSONValue]:
    """The parameters with the operator's defaults filled in; as they are when the operator refuses them."""
    operator = OPERATORS.get(node.operator)
    if operator is None:
        return dict(node.params)
    try:
        filled = operator.params.model_validate(node.params)
    except ValidationError:
        return dict(node.params)
    return filled.model_dump(mode="json", by_alias=True)


def live_branches(node: Node) -> tuple[Branch, ...]:
    """The branches that can be taken: none stands behind one that fits everything or the same outcome."""
    live: list[Branch] = []
    for branch in node.next:
        if all(branch.when != earlier.when for earlier in live):
            live.append(branch)
        if branch.when is None:
            break
    return tuple(live)


def node_params(node: Node) -> dict[str, str]:
    """The parameters that hold a node's name."""
    operator = OPERATORS.get(node.operator)
    names = operator.params.node_params if operator is not None else ()
    return {name: node.params[name] for name in names if isinstance(node.params.get(name), str)}  # type: ignore[misc]


def _node_form(node: Node, numbers: Mapping[str, JSONValue]) -> JSONValue:
    references = {param: _number(name, numbers) for param, name in node_params(node).items()}
    return {
        "operator": node.operator,
        "params": {**full_params(node), **references},
        "next": [[branch.when, _number(branch.to, numbers)] for branch in live_branches(node)],
    }


def _number(name: str, numbers: Mapping[str, JSONValue]) -> JSONValue:
    return numbers.get(name, f"missing:{name}")
