"""Trees and workflow graphs for people: lists, files, drawings, export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evolve.core.errors import UserError
from evolve.report.references import resolve_reference
from evolve.store import Home
from harnesses.directory import write_harness
from harnesses.manifest import harness_workflow
from workflows.canonical import workflow_hash
from workflows.draw import draw_mermaid, draw_text


def tree_rows(home: Home) -> list[dict[str, Any]]:
    """One row per proposed tree, and one per member of a version that no proposal explains (a seed)."""
    rows: dict[str, dict[str, Any]] = {}
    for name in home.versions.names():
        for version in home.versions.list(name):
            for member in version.content["members"]:
                rows.setdefault(member["tree"], _row(member["tree"], "member", name, member["label"]))
    for entry in home.ledger.rows(kind="proposal"):
        detail = entry.detail
        if "tree" in detail:
            rows.setdefault(detail["tree"], _row(detail["tree"], detail["status"], detail["source"], detail["target"]))
    return list(rows.values())


def _row(tree: str, status: str, source: str, target: str) -> dict[str, Any]:
    return {"tree": tree, "status": status, "source": source, "target": target}


def one_tree(home: Home, reference: str) -> tuple[str, dict[str, bytes]]:
    """The tree a reference names; UserError when it names several."""
    members = resolve_reference(home, reference).members
    if len(members) != 1:
        raise UserError(f"{reference} has {len(members)} members", fix=f"name one: {reference}/LABEL")
    tree = next(iter(members))
    return tree, home.trees.get(tree)


def export_tree(home: Home, reference: str, directory: Path) -> tuple[str, int]:
    """Writes the files; UserError when the directory holds anything already."""
    tree, files = one_tree(home, reference)
    if directory.exists() and any(directory.iterdir()):
        raise UserError("the directory is not empty", place=str(directory), fix="name a new directory")
    write_harness(files, directory)
    return tree, len(files)


def workflow_rows(home: Home) -> list[dict[str, Any]]:
    """Distinct graphs by canonical hash, with how many trees share each."""
    found: dict[str, dict[str, Any]] = {}
    for row in tree_rows(home):
        graph = harness_workflow(home.trees.get(row["tree"]))
        key = workflow_hash(graph)
        operators = " → ".join(node.operator for node in graph.nodes.values())
        entry = found.setdefault(key, {"workflow": key, "operators": operators, "trees": 0})
        entry["trees"] += 1
    return list(found.values())


def draw_tree(home: Home, reference: str) -> dict[str, Any]:
    """Both drawings of a tree's workflow."""
    tree, files = one_tree(home, reference)
    graph = harness_workflow(files)
    return {"tree": tree, "workflow": workflow_hash(graph), "text": draw_text(graph), "mermaid": draw_mermaid(graph)}
