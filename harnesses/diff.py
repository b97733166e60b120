"""What differs between two file trees, as a patch and as text that is safe to show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from evolve.core.protocols import Files
from harnesses.hunks import unified_text
from harnesses.patch import DeleteFile, Edit, Patch, UnifiedDiff, WriteFile
from harnesses.paths import is_binary

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def show_safely(text: str) -> str:
    """Text with control characters, line separators and direction overrides escaped as `\\u202e`; letters stay."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file in both trees. `unified` is "" when either side is binary."""

    before: bytes
    after: bytes
    unified: str


@dataclass(frozen=True)
class TreeDiff:
    """From one tree to another; each path is in at most one of the three."""

    added: Mapping[str, bytes]
    removed: Mapping[str, bytes]
    changed: Mapping[str, FileChange]

    @property
    def is_empty(self) -> bool:
        """True when both trees hold the same bytes."""
        return not (self.added or self.removed or self.changed)

    def as_patch(self) -> Patch:
        """The patch from the first tree to the second; deletions first, so that a folder can take a file's place."""
        edits: list[Edit] = [DeleteFile(path) for path in self.removed]
        edits += [WriteFile(path, content) for path, content in self.added.items()]
        for path, change in self.changed.items():
            edits.append(UnifiedDiff(path, change.unified) if change.unified else WriteFile(path, change.after))
        return Patch(tuple(edits))

    def render(self) -> str:
        """Unified text of every path in order, one screen-safe string; "" when the trees are equal."""
        parts = {path: _render_whole("+", path, content) for path, content in self.added.items()}
        parts |= {path: _render_whole("-", path, content) for path, content in self.removed.items()}
        parts |= {path: _render_change(path, change) for path, change in self.changed.items()}
        return "".join(parts[path] for path in sorted(parts))


def diff_trees(a: Files, b: Files) -> TreeDiff:
    """What leads from `a` to `b`."""
    return TreeDiff(
        added={path: b[path] for path in sorted(b.keys() - a.keys())},
        removed={path: a[path] for path in sorted(a.keys() - b.keys())},
        changed={p: _compare(p, a[p], b[p]) for p in sorted(a.keys() & b.keys()) if a[p] != b[p]},
    )


def _compare(path: str, before: bytes, after: bytes) -> FileChange:
    if is_binary(before) or is_binary(after):
        return FileChange(before, after, "")
    return FileChange(before, after, unified_text(before.decode("utf-8"), after.decode("utf-8"), path))


def _render_whole(mark: str, path: str, content: bytes) -> str:
    if is_binary(content):
        return f"{'added' if mark == '+' else 'removed'} {show_safely(path)}: binary, {len(content):,} bytes\n"
    text = content.decode("utf-8")
    unified = unified_text("", text, path) if mark == "+" else unified_text(text, "", path)
    return show_safely(unified) or f"{'added' if mark == '+' else 'removed'} {show_safely(path)}: empty\n"


def _render_change(path: str, change: FileChange) -> str:
    if change.unified:
        return show_safely(change.unified)
    return f"changed {show_safely(path)}: binary, {len(change.before):,} → {len(change.after):,} bytes\n"
