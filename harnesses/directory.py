"""A harness as a folder on disk: read whole and strictly, written whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evolve.core.errors import UserError
from evolve.core.protocols import Files
from harnesses.paths import MANIFEST_PATH, MAX_BINARY_BYTES, is_binary, path_problem

SKIPPED_FOLDERS = frozenset({".git", "__pycache__"})
"""The only names that are left out of a tree: history and compiled bytecode."""


def read_harness(directory: Path) -> dict[str, bytes]:
    """Every file below `directory` except SKIPPED_FOLDERS, as a tree in path order.

    Raises UserError for a missing folder or manifest, a symlink, a special file, a path a tree cannot hold, and a
    binary file over MAX_BINARY_BYTES.
    """
    if not directory.is_dir():
        raise UserError("no such folder", place=str(directory), fix="name a folder that holds a harness.yaml")
    files = {path.relative_to(directory).as_posix(): _read_file(path, directory) for path in _walk(directory)}
    if MANIFEST_PATH not in files:
        raise UserError("no harness.yaml in this folder", place=str(directory), fix="`evolve init DIR` writes one")
    return dict(sorted(files.items()))


def write_harness(files: Files, directory: Path) -> None:
    """Writes a tree into an absent or empty folder. Raises UserError rather than mix it with other files."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UserError("is there already and is not an empty folder", place=str(directory), fix="name a new folder")
    for path, content in files.items():
        if problem := path_problem(path):
            raise UserError(problem, place=path)
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _walk(directory: Path) -> Iterator[Path]:
    for entry in sorted(directory.iterdir()):
        if entry.is_symlink():
            raise UserError("symlinks are not accepted", place=str(entry), fix="put a copy of the file in its place")
        if entry.is_dir():
            if entry.name not in SKIPPED_FOLDERS:
                yield from _walk(entry)
        elif entry.is_file():
            yield entry
        else:
            raise UserError("is neither a file nor a folder", place=str(entry), fix="remove it")


def _read_file(path: Path, root: Path) -> bytes:
    relative = path.relative_to(root).as_posix()
    if problem := path_problem(relative):
        raise UserError(problem, place=str(path), fix="rename it")
    size = path.stat().st_size
    content = path.read_bytes()
    if size > MAX_BINARY_BYTES and is_binary(content):
        raise UserError(
            f"a binary file of {size:,} bytes; at most {MAX_BINARY_BYTES:,}", place=str(path), fix="keep it elsewhere"
        )
    return content
