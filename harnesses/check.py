"""Whether a tree is a whole harness: everything that would stop it from running, found without running it."""

from __future__ import annotations

from collections.abc import Iterator

from evolve.core.errors import UserError
from evolve.core.protocols import Files
from harnesses.demonstrations import demonstration_paths, read_rows
from harnesses.manifest import harness_tools, harness_workflow, read_manifest
from harnesses.paths import path_problem
from workflows.check import Problem, check_workflow
from workflows.check_files import check_workflow_files


def check_harness(files: Files) -> list[Problem]:
    """Problems of paths, demonstrations, manifest, tools, workflow and the files it names; an empty list when whole."""
    problems = [Problem("", f"{path}: {reason}", "rename it") for path in files if (reason := path_problem(path))]
    problems += _broken_demonstrations(files)
    try:
        manifest = read_manifest(files)
        tools = harness_tools(files)
        workflow = harness_workflow(files)
    except UserError as error:
        return [*problems, _as_problem(error)]
    problems += check_workflow(workflow, files=files.keys(), tools=tools.keys(), roles=manifest.roles.keys())
    return problems + check_workflow_files(workflow, files)


def _broken_demonstrations(files: Files) -> Iterator[Problem]:
    for path in demonstration_paths(files):
        try:
            read_rows(files[path], path)
        except UserError as error:
            yield _as_problem(error)


def _as_problem(error: UserError) -> Problem:
    return Problem("", f"{error.place}: {error.message}" if error.place else error.message, error.fix)
