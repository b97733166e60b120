"""The check of what the named files hold: templates, schemas and demonstrations that a run would stumble over."""

from __future__ import annotations

from collections.abc import Iterator

from evolve.core.protocols import Files
from workflows.asking.demonstrations import Demonstration, read_demonstrations
from workflows.asking.prompts import placeholders
from workflows.check import Problem, valid_params
from workflows.names import nearest_hint
from workflows.params import FileUse, OperatorParams
from workflows.reading.schemas import Schema
from workflows.spec import INPUT, Workflow


def check_workflow_files(workflow: Workflow, files: Files) -> list[Problem]:
    """Problems in the files that the workflow names; missing files are `check_workflow`'s to find."""
    problems: list[Problem] = []
    for name, params in valid_params(workflow).items():
        for use in params.files():
            if use.path in files:
                problems += _check_file(workflow, name, params, use, files[use.path])
    return problems


def _check_file(workflow: Workflow, name: str, params: OperatorParams, use: FileUse, data: bytes) -> Iterator[Problem]:
    try:
        text = data.decode("utf-8-sig")
        if use.kind == "prompt":
            yield from _check_template(workflow, name, use, text)
        elif use.kind == "schema":
            Schema.parse(data)
        elif use.kind == "demonstrations":
            yield from _check_rows(name, params, use, read_demonstrations(data))
    except ValueError as error:
        yield Problem(name, f"{use.path}: {error}")


def _check_template(workflow: Workflow, name: str, use: FileUse, text: str) -> Iterator[Problem]:
    known = (INPUT, *workflow.nodes)
    found = placeholders(text)
    if not found & set(known):
        fix = "write {input} where the input belongs"
        yield Problem(name, f"{use.path}: the prompt shows neither the input nor any output", fix)
    for word in sorted(found - set(known)):
        hint = nearest_hint(word, known)
        if hint.startswith("did you mean"):
            yield Problem(name, f"{use.path}: {{{word}}} is no node and stays as it is", hint)


def _check_rows(name: str, params: OperatorParams, use: FileUse, rows: tuple[Demonstration, ...]) -> Iterator[Problem]:
    if not rows:
        yield Problem(name, f"{use.path}: no demonstrations")
    for number, row in enumerate(rows, start=1):
        wrong = params.wrong_with(row)
        if wrong:
            yield Problem(name, f"{use.path}: row {number}: {wrong}")
