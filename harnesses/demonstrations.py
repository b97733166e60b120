"""Demonstration files of a tree: rows that carry the id of the train case they quote."""

from __future__ import annotations

from evolve.core.errors import UserError
from evolve.core.protocols import Files
from workflows.asking.demonstrations import Demonstration, read_demonstrations

FOLDER = "demonstrations/"


def demonstration_paths(files: Files) -> tuple[str, ...]:
    """Every demonstration file of a tree, in order."""
    return tuple(sorted(path for path in files if path.startswith(FOLDER) and path.endswith(".jsonl")))


def demonstration_ids(files: Files) -> set[str]:
    """Ids of the train cases that the tree quotes: they leave its train scores. Raises UserError for a broken row."""
    return {row.id for path in demonstration_paths(files) for row in read_rows(files[path], path)}


def read_rows(content: bytes, path: str) -> tuple[Demonstration, ...]:
    """The rows of one file. Raises UserError naming the line of a broken row, or a row without an id."""
    try:
        rows = read_demonstrations(content)
    except ValueError as error:
        raise UserError(str(error), place=path, fix='rows read {"id": …, "input": …, "output": …}') from error
    for number, row in enumerate(rows, start=1):
        if not row.id:
            raise UserError(f"row {number} has no `id`", place=path, fix="add the id of the train case it quotes")
    return rows
