"""A proposed harness: the patched tree, the patch, and a hypothesis that can be refuted."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue, content_hash
from evolve.core.protocols import Files
from harnesses.manifest import harness_workflow, read_manifest
from harnesses.patch import Patch
from harnesses.paths import is_binary
from harnesses.reading import read_yaml
from workflows.canonical import workflow_hash


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """Why a patch should help. `target` names the slice in words, `target_case_ids` its train cases."""

    cause: str
    lever: str
    predicted_effect: str
    refuted_by: str
    target: str = ""
    target_case_ids: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Proposal:
    """`files` is the parent's tree with `patch` applied; `source` is `catalog:NAME` or `model`.

    `shape` names the answer shape a catalog entry aimed at: (entry, shape) is what `exclude` is made of.
    """

    files: Files
    patch: Patch
    hypothesis: Hypothesis
    source: str
    shape: str = ""

    @cached_property
    def normal_hash(self) -> str:
        """Equal for trees that differ only in white space, key order or the names of workflow nodes."""
        return normal_tree_hash(self.files)


def normal_tree_hash(files: Files) -> str:
    """The hash that duplicates are found by."""
    workflow_path = _workflow_path(files)
    return content_hash({path: _normal_content(files, path, path == workflow_path) for path in files})


def is_duplicate(files: Files, seen: Collection[str]) -> bool:
    """True when a tree with this normal hash is among `seen` (the parent and everything proposed before)."""
    return normal_tree_hash(files) in seen


def _workflow_path(files: Files) -> str:
    try:
        return read_manifest(files).workflow
    except UserError:
        return ""


def _normal_content(files: Files, path: str, is_workflow: bool) -> JSONValue:
    content = files[path]
    if is_binary(content):
        return ["bytes", content.hex()]
    text = content.decode("utf-8")
    try:
        data = ["workflow", workflow_hash(harness_workflow(files))] if is_workflow else _read_data(path, text)
    except (UserError, ValueError, TypeError, RecursionError):
        data = None
    return data if data is not None else ["text", " ".join(text.split())]


def _read_data(path: str, text: str) -> list[str] | None:
    """Kind and hash of what a data file says; None for prose. Raises for what does not parse: it counts as text."""
    if path.endswith((".yaml", ".yml")):
        return ["data", content_hash(read_yaml(text, path))]
    if path.endswith(".json"):
        return ["data", content_hash(json.loads(text))]
    if path.endswith(".jsonl"):
        return ["data", content_hash([json.loads(line) for line in text.split("\n") if line.strip()])]
    return None
