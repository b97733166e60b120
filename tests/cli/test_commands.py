"""The commands as a person runs them: in a process of their own, with exit codes, JSON and errors that name the fix."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def evolve(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    settings = {k: v for k, v in os.environ.items() if k != "EVOLVE_HOME"}
    settings |= {"PYTHONPATH": str(ROOT), **environment}
    command = [sys.executable, "-m", "evolve.cli", *arguments]
    return subprocess.run(command, cwd=cwd, env=settings, capture_output=True, timeout=240, check=False)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One scripted demo, whose home the tests below look at."""
    folder = tmp_path_factory.mktemp("dem ö") / "demo"
    done = evolve("demo", "--scripted", "--dir", str(folder), cwd=folder.parent)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    text = done.stdout.decode()
    for words in ("SCRIPTED MODEL", "evolve check", "PROMOTED", "evolve route", "evolve diff", "evolve rollback"):
        assert words in text
    return folder


def test_the_scripted_demo_writes_its_figures(demo: Path) -> None:
    summary = json.loads((demo / "summary.json").read_text())
    assert summary["verdict"] == "promote"
    assert summary["gain"] >= 0.25
    assert summary["gain_low"] > 0
    assert summary["portfolio_heldout"] >= summary["best_single_heldout"] - 0.01
    assert summary["calls"] > 0


def test_every_reading_command_prints_json(demo: Path) -> None:
    commands = [
        ("status",),
        ("status", "desk-1"),
        ("why", "desk-1"),
        ("why", "desk@2"),
        ("diff", "desk@1", "desk@2"),
        ("portfolio", "list"),
        ("portfolio", "show", "desk@2"),
        ("portfolio", "log", "desk"),
        ("harness", "list"),
        ("harness", "show", "desk@1"),
        ("workflow", "list"),
        ("workflow", "show", "desk@1"),
        ("doctor",),
    ]
    for command in commands:
        done = evolve(*command, "--json", cwd=demo)
        assert done.returncode == 0, (command, done.stderr.decode())
        json.loads(done.stdout)
        assert evolve(*command, cwd=demo).stdout.strip()


def test_rollback_diff_and_unproven_promotion_from_the_command_line(demo: Path) -> None:
    done = evolve("rollback", "desk", "--to", "2", "--reason", "back to the proven one", "--json", cwd=demo)
    made = json.loads(done.stdout)
    assert made["restores"] == 2
    assert json.loads(evolve("diff", "desk@2", f"desk@{made['version']}", "--json", cwd=demo).stdout)["trees"] == []
    refused = evolve("portfolio", "promote", "desk@1", cwd=demo)
    assert refused.returncode == 2
    assert b"--unproven" in refused.stderr
    forced = evolve("portfolio", "promote", "desk@1", "--unproven", "--reason", "a test", "--json", cwd=demo)
    assert "UNPROVEN" in json.loads(forced.stdout)["reason"]
    assert b"UNPROVEN: a test" in evolve("portfolio", "log", "desk", cwd=demo).stdout


def test_export_writes_the_files_of_a_tree(demo: Path, tmp_path: Path) -> None:
    assert evolve("harness", "export", "desk@1", str(tmp_path / "out"), cwd=demo).returncode == 0
    assert (tmp_path / "out" / "harness.yaml").is_file()
    again = evolve("harness", "export", "desk@1", str(tmp_path / "out"), cwd=demo)
    assert again.returncode == 2


def test_init_and_check_work_without_any_key(tmp_path: Path) -> None:
    assert evolve("init", "mydesk", cwd=tmp_path).returncode == 0
    done = evolve("check", "campaign.yaml", cwd=tmp_path / "mydesk", OPENAI_API_KEY="")
    assert done.returncode == 0, done.stderr.decode()
    assert b"Smallest gain it can prove" in done.stdout


def test_init_takes_the_users_csv(tmp_path: Path) -> None:
    rows = "".join(f"question {i},answer {i % 7}\n" for i in range(120))
    (tmp_path / "mine.csv").write_text("input,expected\n" + rows)
    assert evolve("init", "own", "--cases", "mine.csv", cwd=tmp_path).returncode == 0
    done = evolve("check", "campaign.yaml", "--json", cwd=tmp_path / "own")
    assert json.loads(done.stdout)["heldout_cases"] > 20, done.stderr.decode()


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (("check", "nowhere.yaml"), 2, b"no such file"),
        (("status",), 2, b"evolve init"),
        (("route", "hello"), 2, b"evolve init"),
        (("run", "nowhere.yaml", "--require", "everything"), 2, b"--require"),
    ],
)
def test_wrong_input_exits_two_and_names_the_fix(
    tmp_path: Path, command: tuple[str, ...], code: int, words: bytes
) -> None:
    done = evolve(*command, cwd=tmp_path)
    assert done.returncode == code
    assert words in done.stderr
    assert b"Traceback" not in done.stderr


def test_an_unknown_reference_names_the_nearest(demo: Path) -> None:
    done = evolve("diff", "dask@1", "desk@2", cwd=demo)
    assert done.returncode == 2
    assert b"did you mean 'desk'" in done.stderr


def test_a_finished_campaign_cannot_be_cancelled(demo: Path) -> None:
    done = evolve("cancel", "desk-1", cwd=demo)
    assert done.returncode == 2
    assert b"already finished" in done.stderr
