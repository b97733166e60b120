"""Where a run goes next: the first fitting branch, unless its visits are used up; then the exit."""

from __future__ import annotations

from collections.abc import Mapping

from workflows.graph import can_finish, edges_of
from workflows.spec import END, Workflow


class Route:
    """The routing table of one checked workflow.

    A branch is open when `end` can still be reached behind it over nodes with visits left. The first open branch that
    fits the outcome is taken; when none is open, the exit: the first open branch of the rest. A checked workflow
    always has one: the node was entered by a path that leads on to `end` without coming back to it. So a retry loop
    that runs out keeps its last answer, and every run ends after at most nodes times `max_visits` steps.
    """

    def __init__(self, workflow: Workflow) -> None:
        self._edges = edges_of(workflow)
        self._branches = {name: node.next for name, node in workflow.nodes.items()}
        self._max_visits = workflow.max_visits

    def next(self, node: str, outcome: str, visits: Mapping[str, int]) -> str:
        """The target after `outcome` of `node`, given how often each node has run (this visit included)."""
        used_up = {name for name, count in visits.items() if count >= self._max_visits}
        branches = self._branches[node]
        fitting = [branch.to for branch in branches if branch.fits(outcome)]
        others = [branch.to for branch in branches if not branch.fits(outcome)]
        for target in (*fitting, *others):
            if target == END or not used_up or can_finish(self._edges, target, without=used_up):
                return target
        raise AssertionError(f"no way on from {node!r}: the workflow was not checked")
