"""The recorded campaigns of the examples, replayed with every connection refused: one conclusion, one version hash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "examples" / "recorded"

CLOSED = """
import socket, sys
def refuse(self, *arguments):
    raise AssertionError(f"a replay must not connect: {arguments}")
socket.socket.connect = socket.socket.connect_ex = refuse
sys.argv = ["evolve", *sys.argv[1:]]
from evolve.cli.main import main
main()
"""


def replay(folder: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """In an empty folder, with no home, no keys and no way out."""
    environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ.get("PATH", ""), "HOME": str(cwd)}
    command = [sys.executable, "-c", CLOSED, "replay", str(folder), "--json"]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=200)


def names() -> list[str]:
    return sorted(path.parent.name for path in RECORDED.glob("*/record.json"))


def test_there_is_one_of_a_script_and_one_of_a_real_model() -> None:
    identities = {
        name: json.loads((RECORDED / name / "record.json").read_text())["models"]["agent"]["identity"]
        for name in names()
    }
    assert any(identity.startswith("scripted:") for identity in identities.values()), identities
    assert any(identity.startswith("local:") for identity in identities.values()), identities


@pytest.mark.parametrize("name", names())
def test_it_is_identical_with_the_network_closed(name: str, tmp_path: Path) -> None:
    done = replay(RECORDED / name, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    document = json.loads(done.stdout)
    expected = json.loads((RECORDED / name / "expected.json").read_text())
    assert document["identical"] is True and document["notes"] == []
    assert document["conclusion"] == expected["conclusion"] == "promoted"
    assert document["version_hash"] == expected["version"]
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_a_difference_is_exit_1_and_named(tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(RECORDED / names()[0], copy)
    expected = json.loads((copy / "expected.json").read_text())
    row = next(line for line in expected["ledger"] if line["kind"] == "baseline")
    row["detail"]["dev"] = 0.999
    (copy / "expected.json").write_text(json.dumps(expected))
    (tmp_path / "empty").mkdir()
    done = replay(copy, tmp_path / "empty")
    assert done.returncode == 1
    assert "baseline" in json.loads(done.stdout)["difference"] and "0.999" in json.loads(done.stdout)["difference"]


def test_a_target_that_is_neither_is_a_user_error(tmp_path: Path) -> None:
    done = replay(tmp_path / "nothing", tmp_path)
    assert done.returncode == 2 and "fix" in done.stderr
