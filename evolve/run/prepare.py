"""From a tree id to something that can be executed: manifest, compiled workflow, tool schemas."""

from __future__ import annotations

from dataclasses import dataclass

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue, short
from evolve.core.protocols import Files, TreeStore
from harnesses.check import check_harness
from harnesses.manifest import Manifest, harness_tools, harness_workflow, read_manifest
from workflows.compile import CompiledWorkflow, compile_workflow


@dataclass(frozen=True)
class PreparedHarness:
    """A checked tree, compiled once and run many times."""

    tree: str
    files: Files
    manifest: Manifest
    workflow: CompiledWorkflow
    tools: dict[str, dict[str, JSONValue]]


class Preparer:
    """Prepares each tree once. Raises UserError, naming the node or key, when the static check finds a problem."""

    def __init__(self, trees: TreeStore) -> None:
        self._trees = trees
        self._ready: dict[str, PreparedHarness] = {}

    def prepare(self, tree: str) -> PreparedHarness:
        """The runnable form of `tree`."""
        if tree not in self._ready:
            self._ready[tree] = prepare_files(tree, self._trees.get(tree))
        return self._ready[tree]


def prepare_files(tree: str, files: Files) -> PreparedHarness:
    """Checks and compiles `files`."""
    problems = check_harness(files)
    if problems:
        raise UserError(
            "; ".join(str(p) for p in problems), place=f"tree:{short(tree)}", fix="mend the harness files named above"
        )
    tools = {name: tool.tool_schema() for name, tool in harness_tools(files).items()}
    return PreparedHarness(tree, files, read_manifest(files), compile_workflow(harness_workflow(files)), tools)
