"""Questions about the shape of a workflow: what is reached, what can finish, what no path avoids."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence

from workflows.spec import END, Workflow

Edges = Mapping[str, Sequence[str]]
"""Node → targets in branch order. `end` has none."""


def edges_of(workflow: Workflow) -> dict[str, tuple[str, ...]]:
    """The edges of a workflow; targets that do not exist are left out."""
    known = {*workflow.nodes, END}
    return {name: tuple(t for t in workflow.successors(name) if t in known) for name in workflow.nodes}


def visit_order(edges: Edges, start: str, *, without: Collection[str] = ()) -> tuple[str, ...]:
    """Everything reachable from `start`, breadth first in branch order, never entering `without`."""
    if start in without:
        return ()
    seen = {start: None}
    waiting = deque([start])
    while waiting:
        for target in edges.get(waiting.popleft(), ()):
            if target not in seen and target not in without:
                seen[target] = None
                waiting.append(target)
    return tuple(seen)


def can_finish(edges: Edges, start: str, *, without: Collection[str] = ()) -> bool:
    """Whether `end` can be reached from `start` without entering `without`."""
    return END in visit_order(edges, start, without=without)


def cycle_through(edges: Edges, name: str) -> tuple[str, ...]:
    """A shortest cycle through `name` as the nodes in order, empty when there is none."""
    came_from: dict[str, str] = {}
    waiting = deque([name])
    while waiting:
        here = waiting.popleft()
        for target in edges.get(here, ()):
            if target == name:
                return _walk_back(came_from, here, name)
            if target not in came_from:
                came_from[target] = here
                waiting.append(target)
    return ()


def _walk_back(came_from: Mapping[str, str], last: str, first: str) -> tuple[str, ...]:
    path = [last]
    while path[-1] != first:
        path.append(came_from[path[-1]])
    return tuple(reversed(path))
