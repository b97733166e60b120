"""Trees: byte-exact, equal to git's own ids, safe paths only, and branches that move by compare-and-set."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.core.errors import PointerMoved, UserError, WorldError
from evolve.store import GitTrees

PARTS = st.text(st.characters(exclude_characters="/\\\0", exclude_categories=("Cs",)), min_size=1, max_size=12).filter(
    lambda part: part.casefold().rstrip(". ") not in (".git", "git~1") and part not in (".", "..")
)
PATHS = st.lists(PARTS, min_size=1, max_size=3).map("/".join)


def _without_file_above_file(files: dict[str, bytes]) -> dict[str, bytes]:
    return {p: d for p, d in files.items() if not any(p.startswith(f"{other}/") for other in files)}


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> GitTrees:
    return GitTrees(tmp_path_factory.mktemp("t") / "trees.git")


@settings(max_examples=60, deadline=None)
@given(files=st.dictionaries(PATHS, st.binary(max_size=60), max_size=6).map(_without_file_above_file))
def test_what_is_put_comes_back(trees: GitTrees, files: dict[str, bytes]) -> None:
    tree = trees.put(files)
    assert trees.get(tree) == files
    assert trees.put(dict(reversed(files.items()))) == tree
    assert trees.resolve(tree) == tree


def test_ids_are_gits_own(trees: GitTrees) -> None:
    assert trees.put({}) == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "a/../b",
        "/etc/passwd",
        ".git/config",
        "a/.GIT/x",
        ".git./x",
        "git~1/x",
        "a//b",
        "",
        ".",
        "a\\b",
        "a\0b",
        "\ud800",
    ],
)
def test_paths_that_leave_their_folder_are_refused(trees: GitTrees, path: str) -> None:
    with pytest.raises(UserError):
        trees.put({"ok.md": b"", path: b"x"})


def test_a_path_is_a_file_or_a_folder(trees: GitTrees) -> None:
    with pytest.raises(UserError, match="below another file"):
        trees.put({"a": b"", "a/b": b""})


def test_symlinks_that_somebody_pushed_are_refused(trees: GitTrees) -> None:
    repository = trees._repository
    builder = repository.TreeBuilder()
    builder.insert("link", repository.create_blob(b"/etc/passwd"), 0o120000)
    with pytest.raises(UserError, match="symlink"):
        trees.get(str(builder.write()))


@pytest.mark.parametrize("tree", ["0" * 40, "abc", "not hex", "", "../../x"])
def test_unknown_ids_are_user_errors(trees: GitTrees, tree: str) -> None:
    with pytest.raises(UserError):
        trees.get(tree)
    with pytest.raises(UserError):
        trees.resolve(tree)


def test_an_ambiguous_prefix_is_refused_and_a_file_is_no_tree(tmp_path: Path) -> None:
    trees = GitTrees(tmp_path / "t.git")
    by_prefix: dict[str, str] = {}
    for number in range(3000):
        tree = trees.put({str(number): b""})
        if tree[:4] in by_prefix:
            with pytest.raises(UserError, match="ambiguous"):
                trees.resolve(tree[:4])
            assert trees.resolve(tree[:12]) == tree
            break
        by_prefix[tree[:4]] = tree
    else:
        pytest.fail("3,000 trees without a common prefix of four digits cannot be")
    blob = str(trees._repository.create_blob(b"a file"))
    with pytest.raises(UserError, match="unknown"):
        trees.resolve(blob)


def test_a_branch_moves_by_compare_and_set_and_repeats_harmlessly(tmp_path: Path) -> None:
    trees = GitTrees(tmp_path / "t.git")
    one, two = trees.put({"a": b"1"}), trees.put({"a": b"2"})
    first = trees.commit(one, ref="refs/heads/desk", message="one", parents=[])
    assert trees.commit(one, ref="refs/heads/desk", message="one", parents=[]) == first
    second = trees.commit(two, ref="refs/heads/desk", message="two", parents=[first])
    for parents in ([], [first]):
        with pytest.raises(PointerMoved):
            trees.commit(one, ref="refs/heads/desk", message="late", parents=parents)
    assert trees.commit(two, ref="refs/heads/desk", message="two", parents=[first]) == second


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed: apt-get install git")
def test_people_can_log_clone_and_collect_garbage(tmp_path: Path) -> None:
    trees = GitTrees(tmp_path / "t.git")
    unreferenced = trees.put({"only/in/the/store": b"x"})
    trees.commit(trees.put({"a": b"1"}), ref="refs/heads/desk", message="päper", parents=[])
    run = {"check": True, "capture_output": True, "text": True, "encoding": "utf-8"}
    log = subprocess.run(["git", "-C", str(trees.path), "log", "--format=%s", "desk"], **run)
    assert log.stdout == "päper\n" and log.stderr == ""
    subprocess.run(["git", "clone", "-q", "-b", "desk", str(trees.path), str(tmp_path / "clone")], **run)
    assert (tmp_path / "clone" / "a").read_bytes() == b"1"
    subprocess.run(["git", "-C", str(trees.path), "gc", "-q"], **run)
    assert GitTrees(trees.path).get(unreferenced) == {"only/in/the/store": b"x"}


def test_a_folder_that_is_no_repository_is_a_world_error(tmp_path: Path) -> None:
    (tmp_path / "t.git").mkdir()
    with pytest.raises(WorldError, match="cannot be used"):
        GitTrees(tmp_path / "t.git")


def test_a_lock_that_a_killed_process_left_does_not_stop_the_next_one(tmp_path: Path) -> None:
    trees = GitTrees(tmp_path / "t.git")
    tree = GitTrees(tmp_path / "other.git").put({"a": b"y"})
    left = tmp_path / "t.git" / "refs/evolve/trees" / f"{tree}.lock"
    left.parent.mkdir(parents=True)
    left.touch()
    assert trees.put({"a": b"y"}) == tree
    branch = tmp_path / "t.git" / "refs/heads/desk.lock"
    branch.touch()
    os.utime(branch, (0, 0))
    commit = trees.commit(tree, ref="refs/heads/desk", message="m", parents=[])
    assert trees.tip("refs/heads/desk") == (commit, "m")


def test_a_young_lock_of_somebody_else_on_a_branch_is_waited_for(tmp_path: Path) -> None:
    trees = GitTrees(tmp_path / "t.git")
    tree = trees.put({"a": b"y"})
    held = tmp_path / "t.git" / "refs/heads/desk.lock"
    held.parent.mkdir(parents=True, exist_ok=True)
    held.touch()
    releaser = threading.Timer(0.3, held.unlink)
    releaser.start()
    started = time.monotonic()
    trees.commit(tree, ref="refs/heads/desk", message="m", parents=[])
    releaser.join()
    assert time.monotonic() - started >= 0.25
