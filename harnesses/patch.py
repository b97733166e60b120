"""Reversible edits of a file tree: applied whole or not at all, with a reason for every edit that does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evolve.core.errors import UserError
from evolve.core.protocols import Files
from harnesses.hunks import HunkError, apply_hunks, parse_hunks
from harnesses.manifest import patch_rules
from harnesses.paths import PathRules, clash_problem, is_binary
from harnesses.replace import replacement_problem


@dataclass(frozen=True, slots=True)
class WriteFile:
    """Creates or overwrites one file."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """Removes one file that exists."""

    path: str


@dataclass(frozen=True, slots=True)
class ReplaceText:
    """Replaces the only occurrence of `search`."""

    path: str
    search: str
    replace: str


@dataclass(frozen=True, slots=True)
class UnifiedDiff:
    """Changes one existing file by the hunks of a unified diff."""

    path: str
    diff: str


Edit = WriteFile | DeleteFile | ReplaceText | UnifiedDiff


@dataclass(frozen=True, slots=True)
class Patch:
    """Edits in the order in which they apply; a later edit sees what an earlier one did."""

    edits: tuple[Edit, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """Every touched path once, in order of first touch."""
        return tuple(dict.fromkeys(edit.path for edit in self.edits))


@dataclass(frozen=True, slots=True)
class EditRefusal:
    """Edit number (from 1), its path, and one reason (one per hunk for a diff)."""

    edit: int
    path: str
    reason: str

    def __str__(self) -> str:
        return f"edit {self.edit} ({self.path!r:.120}): {self.reason}"


class PatchRefused(UserError):
    """The patch does not apply; nothing was changed. `refusals` says why, edit by edit and hunk by hunk."""

    def __init__(self, refusals: Sequence[EditRefusal]) -> None:
        self.refusals = tuple(refusals)
        super().__init__("\n".join(str(refusal) for refusal in refusals), place="patch")


def apply_patch(files: Files, patch: Patch, *, rules: PathRules | None = None) -> dict[str, bytes]:
    """The patched tree; `files` stays as it is.

    `rules` are the manifest's own unless given. Raises PatchRefused with every reason found, and UserError when the
    tree holds no readable manifest and no rules are given.
    """
    rules = rules if rules is not None else patch_rules(files)
    if not patch.edits:
        raise PatchRefused([EditRefusal(0, "", "the patch holds no edits")])
    tree = dict(files)
    refusals: list[EditRefusal] = []
    for number, edit in enumerate(patch.edits, start=1):
        reasons = _apply_edit(tree, edit, rules)
        refusals.extend(EditRefusal(number, edit.path, reason) for reason in reasons)
    if refusals:
        raise PatchRefused(refusals)
    return tree


def invert_patch(files: Files, patch: Patch) -> Patch:
    """The patch that leads from the patched tree back to `files`. Applies under `PathRules.unrestricted()`.

    Raises PatchRefused when the patch does not apply, or changes nothing, so that there is nothing to invert.
    """
    patched = apply_patch(files, patch, rules=PathRules.unrestricted())
    if patched == dict(files):
        raise PatchRefused([EditRefusal(0, "", "the patch changes nothing")])
    edits: list[Edit] = [DeleteFile(p) for p in patch.paths if p not in files and p in patched]
    edits += [WriteFile(path, files[path]) for path in patch.paths if path in files]
    return Patch(tuple(edits))


def _apply_edit(tree: dict[str, bytes], edit: Edit, rules: PathRules) -> list[str]:
    """Changes `tree` in place, or returns why not."""
    if refusal := rules.refusal(edit.path):
        return [refusal]
    if isinstance(edit, WriteFile):
        return _write(tree, edit, rules)
    if edit.path not in tree:
        return ["there is no such file"]
    if isinstance(edit, DeleteFile):
        del tree[edit.path]
        return []
    if is_binary(tree[edit.path]):
        return ["the file is binary; text edits do not apply"]
    text = tree[edit.path].decode("utf-8")
    if isinstance(edit, ReplaceText):
        if problem := replacement_problem(text, edit.search):
            return [problem]
        changed = text.replace(edit.search, edit.replace)
    else:
        try:
            changed = apply_hunks(text, parse_hunks(edit.diff, edit.path))
        except HunkError as error:
            return list(error.reasons)
    return _write(tree, WriteFile(edit.path, changed.encode("utf-8", "surrogatepass")), rules)


def _write(tree: dict[str, bytes], edit: WriteFile, rules: PathRules) -> list[str]:
    if clash := clash_problem(edit.path, tree.keys()):
        return [clash]
    if not rules.binary and is_binary(edit.content):
        return ["binary content is not accepted"]
    tree[edit.path] = edit.content
    return []
