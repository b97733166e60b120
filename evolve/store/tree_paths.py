"""Which paths a tree may hold: relative, inside their folder, portable, and nothing that git reads as its own."""

from __future__ import annotations

from collections.abc import Iterable

from evolve.core.errors import UserError


def check_paths(paths: Iterable[str]) -> None:
    """UserError that names the first path that is not allowed, or is a file and a folder at once."""
    known = set(paths)
    for path in sorted(known):
        problem = _problem(path)
        if problem is None and any(folder in known for folder in _folders(path)):
            problem = "lies below another file"
        if problem is not None:
            raise UserError(
                f"the path {path!r} {problem}", place="tree", fix="use relative paths such as prompts/system.md"
            )


def _folders(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:i]) for i in range(1, len(parts))]


def _problem(path: str) -> str | None:
    if path.startswith("/"):
        return "is absolute"
    if "\\" in path or "\0" in path:
        return "holds a backslash or a NUL"
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return "is not valid text"
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return "holds an empty, '.' or '..' part"
        # Some file systems ignore case and trailing dots or spaces, and know .git as git~1.
        if part.casefold().rstrip(". ") in (".git", "git~1"):
            return "holds a part that git reads as its own"
    return None
