"""Which paths a harness may hold, and which of them a patch may touch."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

MANIFEST_PATH = "harness.yaml"
MAX_BINARY_BYTES = 1_000_000
_RESERVED = {".git"}


def path_problem(path: str) -> str:
    """Why `path` cannot name a file of a tree, or "" when it can. Paths are relative, POSIX and canonical."""
    if not path:
        return "an empty path"
    if path.startswith("/") or re.match(r"^[A-Za-z]:", path):
        return "an absolute path"
    if "\\" in path or any(ord(character) < 32 or 0xD800 <= ord(character) <= 0xDFFF for character in path):
        return "a path with a backslash, a control character or a lone surrogate"
    parts = path.split("/")
    if ".." in parts:
        return "a path that leaves the tree (`..`)"
    if "" in parts or "." in parts:
        return "a path that is not in canonical form"
    if any(part.lower() in _RESERVED for part in parts):
        return "a path inside `.git`"
    return ""


def clash_problem(path: str, existing: Collection[str]) -> str:
    """Why `path` cannot stand beside `existing`: a file cannot also be a folder."""
    parents = {path[:at] for at, character in enumerate(path) if character == "/"}
    if blocker := next((other for other in parents if other in existing), None):
        return f"{blocker} is a file, so it cannot hold {path}"
    if any(other.startswith(path + "/") for other in existing):
        return f"{path} is a folder"
    return ""


def is_binary(content: bytes) -> bool:
    """True for what is not UTF-8 text (a NUL counts as not text)."""
    if b"\0" in content:
        return True
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


@lru_cache(maxsize=512)
def _compile_glob(glob: str) -> re.Pattern[str]:
    out = []
    for piece in re.split(r"(\*\*/|\*\*|\*|\?)", glob):
        out.append({"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(piece, re.escape(piece)))
    return re.compile("".join(out), re.DOTALL)


def matches_glob(path: str, glob: str) -> bool:
    """`*` and `?` stay within one folder, `**` crosses folders."""
    return _compile_glob(glob).fullmatch(path) is not None


@dataclass(frozen=True, slots=True)
class PathRules:
    """What a patch may touch. The manifest holds limits and permissions, so no rule set but `unrestricted` opens it."""

    writable: tuple[str, ...]
    forbidden: tuple[str, ...] = ()
    binary: bool = False

    @classmethod
    def unrestricted(cls) -> PathRules:
        """For a person's own edits and rollbacks: every well-formed path, any content."""
        return cls(writable=("**",), binary=True)

    def refusal(self, path: str) -> str:
        """Why a patch may not touch `path`, or ""."""
        if problem := path_problem(path):
            return problem
        if glob := next((g for g in self.forbidden if matches_glob(path, g)), None):
            return f"forbidden by the manifest ({glob})"
        if not any(matches_glob(path, glob) for glob in self.writable):
            return f"not writable: the manifest opens {', '.join(self.writable) or 'nothing'}"
        return ""
