"""Case 33: two promotions at once: one wins by compare-and-set, the other is told, and no version is half there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from evolve.store import NewVersion, open_home

PROJECT = Path(__file__).parents[2]

MOVE = """
import sys
from pathlib import Path
from evolve.core.errors import PointerMoved
from evolve.store import NewVersion, open_home
versions = open_home(Path(sys.argv[1])).versions
name, act = sys.argv[2:]
live = versions.pointer("desk")
print("ready", flush=True)
sys.stdin.readline()
try:
    if act == "move":
        versions.move_pointer("desk", "live", expected=live, to={"one": 2, "two": 3}[name], reason=name)
    else:
        versions.commit_and_move(NewVersion("desk", {"by": name}, {}, live, name, name), expected=live)
    print("won")
except PointerMoved as lost:
    print("lost", lost.exit_code, lost.expected, "->", lost.actual)
"""


@pytest.mark.parametrize("act", ["move", "commit"])
@pytest.mark.parametrize("attempt", range(3))
def test_one_process_wins_and_the_other_is_told(tmp_path: Path, act: str, attempt: int) -> None:
    home = open_home(tmp_path / "home", create=True)
    home.versions.commit_and_move(NewVersion("desk", {"by": "seed"}, {}, None, "seed", "seed"), expected=None)
    for name in ("one", "two") if act == "move" else ():
        home.versions.commit("desk", {"by": name}, {}, parent=1, reason=name, key=name)
    before = len(home.versions.list("desk"))

    outcomes = race([[sys.executable, "-c", MOVE, str(home.path), name, act] for name in ("one", "two")])

    won = [name for name, said in zip(("one", "two"), outcomes, strict=True) if said == "won\n"]
    assert len(won) == 1, outcomes
    (lost,) = [said for said in outcomes if said != "won\n"]
    assert lost.startswith("lost 5 version 1 -> version ")
    live = home.versions.pointer("desk")
    assert live is not None
    assert home.versions.get("desk", live).content == {"by": won[0]}
    assert [move.reason for move in home.versions.pointer_log("desk")] == ["seed", won[0]]
    # The loser's commit is gone with its move: a version that nobody promoted must not look like one.
    assert len(home.versions.list("desk")) == before + (1 if act == "commit" else 0)
    home.close()


def race(commands: list[list[str]]) -> list[str]:
    """Starts the commands, waits until each has read the pointer, lets them go, and returns what they said."""
    children = [
        subprocess.Popen(c, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for c in commands
    ]
    for child in children:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    return [child.communicate(timeout=60)[0] for child in children]
