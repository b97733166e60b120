"""Case 8: a home below spaces and letters beyond ASCII, and a home behind a symlink, work like any other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evolve.core.errors import UserError
from evolve.store import NewVersion, open_home

PROJECT = Path(__file__).parents[2]
NAMES = ["two  words", "Üben größe", "日本 語", "100%20 done?#x&y=%(a)s", "quote'\"$HOME", "e\u0301-combined"]

USE = """
import os, sys
from evolve.store import NewVersion, open_home
for name in sorted(os.listdir()):
    os.chdir(name)
    home = open_home(create=True)
    tree = home.trees.put({"harness.yaml": b"x"})
    home.versions.commit_and_move(NewVersion("desk", {"members": [tree]}, {}, None, "seed", "seed"), expected=None)
    with home.campaigns.lock("desk-1"):
        home.close()
    os.chdir("..")
"""


@pytest.mark.parametrize(
    "locale", [{}, {"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_a_home_works_wherever_the_project_lies(tmp_path: Path, locale: dict[str, str]) -> None:
    for name in NAMES:
        (tmp_path / name).mkdir()
    environment = {k: v for k, v in os.environ.items() if k != "EVOLVE_HOME"}
    done = subprocess.run(
        [sys.executable, "-c", USE],
        cwd=tmp_path,
        env={**environment, **locale, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert {p.name for p in tmp_path.iterdir()} == set(NAMES)
    for name in NAMES:
        assert [p.name for p in (tmp_path / name).iterdir()] == [".evolve"]
        home = open_home(tmp_path / name / ".evolve")
        (tree,) = home.versions.get("desk", 1).content["members"]
        assert home.trees.get(tree) == {"harness.yaml": b"x"}
        home.close()


def test_a_symlinked_home_is_the_same_home(tmp_path: Path) -> None:
    real = tmp_path / "real höme"
    real.mkdir()
    project = tmp_path / "project"
    project.mkdir()
    (project / ".evolve").symlink_to(real, target_is_directory=True)
    linked = open_home(near=project, environment={}, create=True)
    linked.versions.commit_and_move(NewVersion("desk", {}, {}, None, "seed", "seed"), expected=None)
    direct = open_home(real)
    assert linked.path == direct.path == real
    assert direct.versions.pointer("desk") == 1
    # Both names lead to one lock: a campaign cannot run twice through two spellings of its home.
    with linked.campaigns.lock("desk-1"), pytest.raises(UserError, match="running"):
        direct.campaigns.lock("desk-1")
    linked.close()
    direct.close()


def test_a_link_to_a_home_that_is_not_there_yet_is_followed(tmp_path: Path) -> None:
    (tmp_path / ".evolve").symlink_to(tmp_path / "disk" / "home")
    home = open_home(near=tmp_path, environment={}, create=True)
    assert home.path == tmp_path / "disk" / "home"
    home.close()
    again = open_home(near=tmp_path, environment={})
    assert again.path == home.path
    again.close()
