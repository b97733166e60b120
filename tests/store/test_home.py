"""A home is found like .git, refused when it is newer, fast to open, and honest about a disk that fails."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import text

from evolve.core.errors import UserError, WorldError
from evolve.store import Home, open_home
from evolve.store.schema import SCHEMA

PROJECT = Path(__file__).parents[2]


def test_found_upward_from_a_folder_or_a_file(tmp_path: Path) -> None:
    open_home(tmp_path / ".evolve", create=True).close()
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "campaign.yaml").write_text("schema: 1\n")
    for near in (deep, deep / "campaign.yaml"):
        home = open_home(near=near, environment={})
        assert home.path == (tmp_path / ".evolve").resolve()
        home.close()


def test_the_environment_wins_over_the_search(tmp_path: Path) -> None:
    open_home(tmp_path / ".evolve", create=True).close()
    home = open_home(near=tmp_path, environment={"EVOLVE_HOME": str(tmp_path / "other")}, create=True)
    assert home.path == tmp_path / "other"
    home.close()


def test_nothing_is_created_unless_asked(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="evolve init"):
        open_home(near=tmp_path, environment={})
    with pytest.raises(UserError, match="no home here"):
        open_home(tmp_path / "typo")
    assert list(tmp_path.iterdir()) == []


def test_a_created_home_is_invisible_to_the_projects_own_repository(home: Home) -> None:
    assert (home.path / ".gitignore").read_text() == "*\n"


def test_opening_a_current_home_is_fast_and_leaves_alembic_alone(home: Home) -> None:
    home.close()
    program = (
        "import sys, time; from pathlib import Path; from evolve.store import open_home\n"
        "times = []\n"
        "for _ in range(5):\n"
        "    start = time.perf_counter(); opened = open_home(Path(sys.argv[1]))\n"
        "    times.append(time.perf_counter() - start)\n"
        "    opened.close()\n"
        "print(min(times), 'alembic' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(home.path)], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    seconds, imported = done.stdout.split()
    assert float(seconds) < 0.05
    assert imported == "False"


def test_a_newer_schema_is_refused_by_name(home: Home) -> None:
    with home.database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0999'"))
    home.close()
    with pytest.raises(UserError, match=f"0999.*{SCHEMA}"):
        open_home(home.path)


def test_describe_says_where_and_how_much(home: Home) -> None:
    home.artifacts.put(b"x")
    home.trees.put({"a": b"b"})
    described = home.describe()
    assert described["path"] == str(home.path)
    assert described["schema"] == SCHEMA
    assert described["calls"] == described["versions"] == 0
    assert described["database_bytes"] > 0 and described["trees_bytes"] > 0


def test_a_full_disk_is_a_world_error_and_loses_nothing_older(home: Home) -> None:
    kept = home.artifacts.put(b"kept")
    with home.database.read() as connection:
        pages = connection.execute(text("PRAGMA page_count")).scalar_one()
    home.close()
    # The same refusal as of a full disk, from SQLite itself: the file may not grow.
    limited = open_home(home.path)
    with limited.database.read() as connection:
        connection.execute(text(f"PRAGMA max_page_count = {pages}"))
    with pytest.raises(WorldError, match="disk is full"):
        limited.artifacts.put(os.urandom(1_000_000))
    assert limited.artifacts.get(kept) == b"kept"
    limited.close()


WRITE_AS_SOMEBODY = """
import os, sys
from pathlib import Path
from evolve.core.errors import WorldError
from evolve.store import open_home
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    open_home(Path(sys.argv[1])).artifacts.put(b"y")
except WorldError as error:
    print("WorldError", error)
"""


@pytest.mark.parametrize("folder_too", [False, True])
def test_a_read_only_home_is_a_world_error(folder_too: bool) -> None:
    # pytest's own folders may be closed to others, and root may write anywhere: so a child without privileges tries.
    with TemporaryDirectory() as above:
        home = open_home(Path(above) / "home", create=True)
        home.close()
        for path in (Path(above), home.path, *home.path.rglob("*")):
            if os.getuid() == 0:
                os.chown(path, 65534, 65534)
            path.chmod(0o755 if path.is_dir() else 0o444)
        home.path.chmod(0o555 if folder_too else 0o755)
        done = subprocess.run(
            [sys.executable, "-c", WRITE_AS_SOMEBODY, str(home.path)],
            cwd=PROJECT,
            env={**os.environ, "HOME": above},
            capture_output=True,
            text=True,
        )
        home.path.chmod(0o755)
    assert done.stdout.startswith(f"WorldError the home {home.path} is "), done.stderr
    assert "read-only" in done.stdout or "may be read and written" in done.stdout


def test_a_damaged_file_is_a_world_error(tmp_path: Path) -> None:
    (tmp_path / "evolve.db").write_bytes(b"this is not a database at all" * 100)
    with pytest.raises(WorldError, match="not a database"):
        open_home(tmp_path)


def test_a_slow_reader_blocks_no_writer(home: Home) -> None:
    home.artifacts.put(b"before")
    with home.database.read() as reader:
        assert reader.execute(text("SELECT count(*) FROM artifacts")).scalar_one() == 1
        start = time.perf_counter()
        home.artifacts.put(b"during")
        assert time.perf_counter() - start < 5
        assert reader.execute(text("SELECT count(*) FROM artifacts")).scalar_one() == 1
    with home.database.read() as reader:
        assert reader.execute(text("SELECT count(*) FROM artifacts")).scalar_one() == 2


def test_two_processes_may_create_one_home_at_once(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from evolve.store import open_home\n"
        "open_home(Path(sys.argv[1]), create=True).close()"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "new")]
    started = [subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE) for _ in range(3)]
    for child in started:
        _, errors = child.communicate(timeout=60)
        assert child.returncode == 0, errors.decode()
    home = open_home(tmp_path / "new")
    assert home.trees.get(home.trees.put({"a": b"b"})) == {"a": b"b"}
    assert not list(home.path.glob(".trees.git-*"))
    home.close()
