"""Commands about trees: harness list|show|export, workflow list|show."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import typer

from evolve.cli.output import JsonFlag, emit

harness = typer.Typer(no_args_is_help=True, help="Look at harness trees.")
workflow = typer.Typer(no_args_is_help=True, help="Look at the workflow graph of a tree.")


def register(app: typer.Typer) -> None:
    """Adds the command groups."""
    app.add_typer(harness, name="harness")
    app.add_typer(workflow, name="workflow")


@harness.command("list")
def harness_list(json_: JsonFlag = False) -> None:
    """Every tree that campaigns proposed, with what became of it."""
    from evolve.report.trees import tree_rows
    from evolve.store import open_home

    with closing(open_home()) as home:
        rows = tree_rows(home)
        emit(
            json_, rows, [f"{r['tree'][:12]} {r['status']:9} {r['source']} {r['target']}" for r in rows] or ["none yet"]
        )


@harness.command("show")
def harness_show(reference: str, json_: JsonFlag = False) -> None:
    """The files of one tree: `tree:ab12…` or NAME@N/member."""
    from evolve.report.trees import one_tree
    from evolve.store import open_home

    with closing(open_home()) as home:
        tree, files = one_tree(home, reference)
        texts = {path: data.decode("utf-8", "replace") for path, data in sorted(files.items())}
        lines = [f"tree:{tree}"]
        for path, text in texts.items():
            lines += ["", f"--- {path}", text.rstrip("\n")]
        emit(json_, {"tree": tree, "files": texts}, lines)


@harness.command("export")
def harness_export(reference: str, directory: Path, json_: JsonFlag = False) -> None:
    """Write the files of one tree into a new or empty directory."""
    from evolve.report.trees import export_tree
    from evolve.store import open_home

    with closing(open_home()) as home:
        tree, count = export_tree(home, reference, directory)
        emit(json_, {"tree": tree, "files": count, "directory": str(directory)}, [f"{count} files → {directory}"])


@workflow.command("list")
def workflow_list(json_: JsonFlag = False) -> None:
    """The distinct workflow graphs among all trees."""
    from evolve.report.trees import workflow_rows
    from evolve.store import open_home

    with closing(open_home()) as home:
        rows = workflow_rows(home)
        emit(json_, rows, [f"{r['workflow'][:12]} {r['operators']} ({r['trees']} trees)" for r in rows] or ["none yet"])


@workflow.command("show")
def workflow_show(reference: str, mermaid: bool = False, json_: JsonFlag = False) -> None:
    """Draw the workflow of one tree, as text or (--mermaid) as a Mermaid graph."""
    from evolve.report.trees import draw_tree
    from evolve.store import open_home

    with closing(open_home()) as home:
        document = draw_tree(home, reference)
        emit(json_, document, [document["mermaid" if mermaid else "text"]])
