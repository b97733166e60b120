"""Seed graphs: small workflows that work, as YAML, with conventional file names inside a tree."""

from __future__ import annotations

from importlib.resources import files

from evolve.core.errors import UserError
from workflows.names import nearest_hint
from workflows.spec import Workflow, parse_workflow


def library_names() -> tuple[str, ...]:
    """The names of all seed graphs."""
    found = (entry.name for entry in files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in found if name.endswith(".yaml")))


def library_text(name: str) -> str:
    """A seed graph as YAML, comments and all. UserError for an unknown name."""
    if name not in library_names():
        raise UserError(f"no seed workflow {name!r}", fix=nearest_hint(name, library_names()))
    return files(__name__).joinpath(f"{name}.yaml").read_text("utf-8")


def library_workflow(name: str) -> Workflow:
    """A seed graph."""
    return parse_workflow(library_text(name), place=f"workflows/library/{name}.yaml")
