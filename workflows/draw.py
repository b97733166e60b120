"""Workflows as pictures: plain text for the terminal, Mermaid for pages."""

from __future__ import annotations

from workflows.canonical import canonical_order, live_branches
from workflows.diff import branch_text
from workflows.spec import END, Node, Workflow

_SHOWN = 48


def draw_text(workflow: Workflow) -> str:
    """One line for each node in the order of the run: name, operator, what it names, where it leads."""
    order = _drawing_order(workflow)
    width = max(len(name) for name in order)
    lines = [f"start → {workflow.start}"]
    for name in order:
        node = workflow.nodes[name]
        lines.append(f"  {name:<{width}}  {_label(node)}  →  {branch_text(node)}")
    answer = f"answer of {workflow.output}" if workflow.output else "last answer"
    lines.append(f"output: {answer}; each node at most {workflow.max_visits} times")
    return "\n".join(lines)


def draw_mermaid(workflow: Workflow) -> str:
    """A Mermaid flowchart. Node names need no escaping; labels are escaped."""
    lines = ["flowchart TD", "  start([start])", "  finish([end])", f"  start --> n_{workflow.start}"]
    for name in _drawing_order(workflow):
        node = workflow.nodes[name]
        lines.append(f'  n_{name}["{name}<br/>{_escaped(_label(node))}"]')
        for branch in live_branches(node):
            arrow = f'-- "{_escaped(branch.when)}" -->' if branch.when is not None else "-->"
            lines.append(f"  n_{name} {arrow} {'finish' if branch.to == END else f'n_{branch.to}'}")
    return "\n".join(lines) + "\n"


def _drawing_order(workflow: Workflow) -> list[str]:
    reached = canonical_order(workflow)
    return [*reached, *(name for name in workflow.nodes if name not in reached)]


def _label(node: Node) -> str:
    named = [str(value) for value in node.params.values() if isinstance(value, str)]
    text = f"{node.operator}({', '.join(named)})" if named else node.operator
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
