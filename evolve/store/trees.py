"""File trees as git objects in a bare repository that people may log, clone and push."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import mkdtemp

import pygit2
from pygit2.enums import FileMode, Option

from evolve.core.errors import PointerMoved, UserError, WorldError
from evolve.core.protocols import Files
from evolve.store.packing import utc_now
from evolve.store.ref_locks import writing
from evolve.store.tree_paths import check_paths

_HEX = frozenset("0123456789abcdef")
_SHORTEST_PREFIX = 4
_FULL = 40

Nested = dict[str, "bytes | Nested"]


class GitTrees:
    """The TreeStore of a home. `put` returns after its objects are on the disk; equal files give equal ids."""

    def __init__(self, path: Path, *, clock: Callable[[], datetime] = utc_now) -> None:
        self.path = path
        self._clock = clock
        self._lock = threading.Lock()
        with _world_errors(path):
            pygit2.option(Option.ENABLE_FSYNC_GITDIR, True)
            if not path.exists():
                _create_repository(path)
            self._repository = pygit2.Repository(str(path))

    def put(self, files: Files) -> str:
        """Stores `files` and returns the tree's id. UserError for a path that could leave its folder.

        A reference to each tree keeps `git gc` from taking it.
        """
        nested = _nest(files)
        with self._lock, _world_errors(self.path):
            oid = self._write(nested)
            name = f"refs/evolve/trees/{oid}"
            if self._repository.references.get(name) is None:
                with writing(self.path, name):
                    self._repository.references.create(name, oid, force=True)
            return str(oid)

    def get(self, tree: str) -> dict[str, bytes]:
        """Byte-exact files. UserError when the id is unknown, or the tree holds a symlink or a submodule."""
        with self._lock, _world_errors(self.path):
            return dict(self._files(self._tree(tree), ""))

    def search(self, holds: Callable[[bytes], bool]) -> dict[str, list[str]]:
        """Tree → paths of its files whose bytes `holds`, for every tree that was ever put here."""
        prefix, seen, found = "refs/evolve/trees/", {}, {}
        with self._lock, _world_errors(self.path):
            for name in [n for n in self._repository.references if n.startswith(prefix)]:
                tree = name.removeprefix(prefix)
                files = list(self._files(self._tree(tree), ""))
                hits = []
                for path, data in files:
                    if data not in seen:
                        seen[data] = holds(data)
                    if seen[data] or holds(path.encode()):
                        hits.append(path)
                if hits:
                    found[tree] = sorted(hits)
        return found

    def resolve(self, prefix: str) -> str:
        """The full id for an unambiguous prefix of at least four digits."""
        text = prefix.lower()
        if not (_SHORTEST_PREFIX <= len(text) <= _FULL) or not set(text) <= _HEX:
            raise UserError(f"{prefix!r} is not a tree id", fix="give 4 to 40 hex digits")
        with self._lock, _world_errors(self.path):
            found = [oid for oid in self._matches(text) if isinstance(self._repository.get(oid), pygit2.Tree)]
        if len(found) != 1:
            problem = f"is ambiguous: {len(found)} trees start with it" if found else "is unknown"
            raise UserError(f"tree {prefix!r} {problem}", fix="give more digits, or list what there is")
        return found[0]

    def commit(self, tree: str, *, ref: str, message: str, parents: Sequence[str]) -> str:
        """A commit of `tree` on `ref`, whose tip must be the first parent (PointerMoved otherwise). Returns its id.

        Repeating a commit whose effect stands (same tree, message and parents at the tip) changes nothing.
        """
        with self._lock, _world_errors(self.path), writing(self.path, ref):
            root = self._tree(tree)
            tip = self._tip(ref)
            if tip is not None and _is_same(tip, root, message, parents):
                return str(tip.id)
            expected = parents[0] if parents else None
            if (str(tip.id) if tip else None) != expected:
                raise PointerMoved(ref, str(expected), str(tip.id) if tip else "None")
            who = pygit2.Signature("evolve", "evolve@localhost", int(self._clock().timestamp()), 0)
            return str(self._repository.create_commit(ref, who, who, message, root.id, list(parents)))

    def tip(self, ref: str) -> tuple[str, str] | None:
        """Id and message of the commit that `ref` points at; None when there is no such ref."""
        with self._lock, _world_errors(self.path):
            commit = self._tip(ref)
        return None if commit is None else (str(commit.id), commit.message)

    def close(self) -> None:
        """Releases file handles; safe to call twice."""
        self._repository.free()

    def _write(self, nested: Nested) -> pygit2.Oid:
        builder = self._repository.TreeBuilder()
        for name, entry in nested.items():
            if isinstance(entry, bytes):
                builder.insert(name, self._repository.create_blob(entry), FileMode.BLOB)
            else:
                builder.insert(name, self._write(entry), FileMode.TREE)
        return builder.write()

    def _files(self, tree: pygit2.Tree, above: str) -> Iterator[tuple[str, bytes]]:
        for entry in tree:
            path = above + _text_name(entry)
            if isinstance(entry, pygit2.Tree):
                yield from self._files(entry, f"{path}/")
            elif isinstance(entry, pygit2.Blob) and entry.filemode != FileMode.LINK:
                yield path, entry.data
            else:
                raise UserError("a tree holds plain files only, no symlinks or submodules", place=path)

    def _tree(self, tree: str) -> pygit2.Tree:
        found = self._repository.get(tree) if len(tree) == _FULL and set(tree) <= _HEX else None
        if not isinstance(found, pygit2.Tree):
            raise UserError(f"tree {tree!r} is unknown in {self.path}", fix="check the id, or the home it came from")
        return found

    def _matches(self, prefix: str) -> list[str]:
        try:
            return [str(self._repository.expand_id(prefix))]
        except KeyError:
            return []
        except ValueError:  # several objects, perhaps files and one tree
            return [str(oid) for oid in self._repository.odb if str(oid).startswith(prefix)]

    def _tip(self, ref: str) -> pygit2.Commit | None:
        reference = self._repository.references.get(ref)
        return reference.peel(pygit2.Commit) if reference is not None else None


def _is_same(tip: pygit2.Commit, root: pygit2.Tree, message: str, parents: Sequence[str]) -> bool:
    return tip.tree_id == root.id and tip.message == message and [str(p) for p in tip.parent_ids] == list(parents)


def _text_name(entry: pygit2.Object) -> str:
    # `entry.name` would be decoded by the locale; git's names are bytes, and ours are UTF-8.
    raw = entry.raw_name or b""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError("a tree holds UTF-8 names only", place=repr(raw), fix="rename the file") from error


def _nest(files: Mapping[str, bytes]) -> Nested:
    check_paths(files)
    root: Nested = {}
    for path, data in files.items():
        *folders, name = path.split("/")
        place = root
        for folder in folders:
            inner = place.setdefault(folder, {})
            assert isinstance(inner, dict)
            place = inner
        place[name] = data
    return root


def _create_repository(path: Path) -> None:
    """Appears complete or not at all. Trees need no ref to live, so nothing may be collected as garbage."""
    draft = mkdtemp(prefix=f".{path.name}-", dir=path.parent)
    repository = pygit2.init_repository(draft, bare=True)
    repository.config["gc.auto"] = 0
    repository.config["gc.pruneExpire"] = "never"
    repository.free()
    try:
        os.rename(draft, path)
    except OSError:
        shutil.rmtree(draft)
        if not (path / "HEAD").exists():
            raise


@contextmanager
def _world_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (pygit2.GitError, OSError) as error:
        raise WorldError(f"the tree store {path} cannot be used: {error}", passing=False, halts=True) from error
