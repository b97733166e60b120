"""Versions are numbered once and never changed; pointers move by compare-and-set; both or neither after a crash."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evolve.core.errors import PointerMoved, UserError
from evolve.core.hashing import content_hash
from evolve.store import Home, NewVersion, VersionRow, open_home

PROJECT = Path(__file__).parents[2]


def commit(home: Home, key: str, parent: int | None = None) -> VersionRow:
    return home.versions.commit("desk", {"members": [key]}, {"gain": 0.1}, parent=parent, reason="better", key=key)


def test_versions_are_numbered_per_name_and_hashed_by_content(home: Home) -> None:
    first, second = commit(home, "a"), commit(home, "b", parent=1)
    other = home.versions.commit("other", {"members": ["a"]}, {}, parent=None, reason="", key="a")
    assert (first.number, second.number, other.number) == (1, 2, 1)
    assert first.content_hash == other.content_hash == content_hash({"members": ["a"]})
    assert home.versions.get("desk", 2) == second
    assert home.versions.list("desk") == [first, second]
    assert home.versions.names() == ("desk", "other")
    assert home.versions.list("none") == []


def test_a_repeated_key_finds_what_is_there(home: Home) -> None:
    first = commit(home, "a")
    assert home.versions.commit("desk", {"members": ["changed"]}, {}, parent=None, reason="", key="a") == first
    assert len(home.versions.list("desk")) == 1


def test_what_does_not_exist_is_named(home: Home) -> None:
    commit(home, "a")
    with pytest.raises(UserError, match="versions 1 to 1"):
        home.versions.get("desk", 2)
    with pytest.raises(UserError, match="nothing was committed"):
        home.versions.get("dsk", 1)
    with pytest.raises(UserError, match="version 7 does not exist"):
        commit(home, "b", parent=7)
    with pytest.raises(UserError, match="version 9 does not exist"):
        home.versions.move_pointer("desk", "live", expected=None, to=9, reason="")
    assert home.versions.pointer("desk") is None


def test_pointers_move_by_compare_and_set_and_every_move_is_logged(home: Home) -> None:
    commit(home, "a"), commit(home, "b")
    versions = home.versions
    versions.move_pointer("desk", "live", expected=None, to=1, reason="seed")
    for stale in (None, 2):
        with pytest.raises(PointerMoved, match="found version 1"):
            versions.move_pointer("desk", "live", expected=stale, to=2, reason="late")
    versions.move_pointer("desk", "live", expected=1, to=2, reason="better")
    versions.move_pointer("desk", "staged", expected=None, to=1, reason="try")
    assert (versions.pointer("desk"), versions.pointer("desk", "staged")) == (2, 1)
    assert [(m.which, m.before, m.after, m.reason) for m in versions.pointer_log("desk")] == [
        ("live", None, 1, "seed"),
        ("live", 1, 2, "better"),
        ("staged", None, 1, "try"),
    ]


def test_commit_and_move_is_one_act(home: Home) -> None:
    versions = home.versions
    first = versions.commit_and_move(NewVersion("desk", {"m": 1}, {}, None, "seed", "a"), expected=None)
    with pytest.raises(PointerMoved):
        versions.commit_and_move(NewVersion("desk", {"m": 2}, {}, 1, "lost", "b"), expected=None)
    assert versions.list("desk") == [first]
    second = versions.commit_and_move(NewVersion("desk", {"m": 2}, {}, 1, "won", "b"), expected=1)
    assert versions.pointer("desk") == second.number == 2
    # A replay of the first act must neither move the pointer back nor complain that it has moved on.
    assert versions.commit_and_move(NewVersion("desk", {"m": 1}, {}, None, "seed", "a"), expected=None) == first
    assert versions.pointer("desk") == 2 and len(versions.pointer_log("desk")) == 2


def test_a_version_that_was_committed_before_can_still_be_moved_to(home: Home) -> None:
    row = commit(home, "a")
    new = NewVersion("desk", row.content, {}, None, "now", "a")
    assert home.versions.commit_and_move(new, expected=None).number == home.versions.pointer("desk") == 1


PROMOTER = """
import sys
from pathlib import Path
from evolve.store import NewVersion, open_home
versions = open_home(Path(sys.argv[1])).versions
print("ready", flush=True)
for n in range(10**6):
    live = versions.pointer("desk")
    row = versions.commit_and_move(NewVersion("desk", {"n": n}, {}, live, "", f"{sys.argv[2]}/{n}"), expected=live)
    print(row.number, flush=True)
"""


@pytest.mark.parametrize("attempt", range(3))
def test_kill_9_in_a_promotion_leaves_both_or_neither(home: Home, attempt: int) -> None:
    command = [sys.executable, "-c", PROMOTER, str(home.path), str(attempt)]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        seen = [child.stdout.readline() for _ in range(4 + 7 * attempt)]
        os.kill(child.pid, signal.SIGKILL)
        acknowledged = [int(n) for n in [*seen[1:], *child.stdout.read().split()]]
    again = open_home(home.path)
    numbers = [row.number for row in again.versions.list("desk")]
    assert numbers == list(range(1, len(numbers) + 1))
    assert again.versions.pointer("desk") == numbers[-1] >= acknowledged[-1]
    assert [m.after for m in again.versions.pointer_log("desk")] == numbers
    again.close()
