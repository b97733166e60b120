"""kill -9 at random times, resumed until it ends: the uninterrupted result, and no finished call paid twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from evolve.store import Home, open_home

ROOT = Path(__file__).resolve().parents[2]
DRIVER = """
import asyncio, importlib.util, os, sys
from pathlib import Path
folder, log = Path(sys.argv[1]), sys.argv[2]
spec = importlib.util.spec_from_file_location("e2e_project", sys.argv[3])
project_module = importlib.util.module_from_spec(spec); sys.modules["e2e_project"] = project_module
spec.loader.exec_module(project_module)
from evolve.campaign.observe import silent
from evolve.campaign.run import load_inputs, resume_campaign, start_campaign
from evolve.store import open_home
rows = project_module.make_rows(160)
project = project_module.Project(folder, rows)
answer = project_module.desk_script(rows)
def reply(request, rng):
    with open(log, "ab", buffering=0) as out:
        out.write((request.request_hash + "\\n").encode())
    return answer(request, rng)
home = open_home(project.home, create=True)
inputs = load_inputs(project.campaign, {}, {"desk": reply})
existing = home.campaigns.list()
if existing:
    work = resume_campaign(existing[0].id, inputs, home, silent)
else:
    work = start_campaign(inputs, home, silent, path=project.campaign)
print(asyncio.run(work).state["conclusion"])
"""


def drive(folder: Path, log: Path) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-c", DRIVER, str(folder), str(log), str(ROOT / "tests/e2e/conftest.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def prepare(folder: Path) -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location("e2e_project_writer", ROOT / "tests/e2e/conftest.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["e2e_project_writer"] = module
    spec.loader.exec_module(module)
    module.write_project(folder, 160)


def ended(home: Home) -> bool:
    return any(row.status == "finished" for row in home.campaigns.list())


def test_killed_and_resumed_it_ends_the_same_and_repays_only_calls_in_flight(tmp_path: Path) -> None:
    whole, whole_log = tmp_path / "whole", tmp_path / "whole.log"
    prepare(whole)
    process = drive(whole, whole_log)
    out, err = process.communicate(timeout=120)
    assert out.strip() == b"promoted", err.decode()[-2000:]

    cut, cut_log = tmp_path / "cut", tmp_path / "cut.log"
    prepare(cut)
    rng, kills = random.Random(3), 0
    for _ in range(40):
        process = drive(cut, cut_log)
        time.sleep(rng.uniform(1.0, 2.2))
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += 1
    out, err = process.communicate(timeout=120)
    for _ in range(2):
        if out.strip() != b"promoted":
            process = drive(cut, cut_log)
            out, err = process.communicate(timeout=120)
    assert kills >= 2
    homes = [open_home(folder / ".evolve") for folder in (whole, cut)]
    try:
        assert all(ended(home) for home in homes), err.decode()[-2000:]
        hashes = {home.versions.get("small", home.versions.pointer("small") or 0).content_hash for home in homes}
        assert len(hashes) == 1
        assert [len(home.versions.list("small")) for home in homes] == [2, 2]
    finally:
        for home in homes:
            home.close()
    paid = [log.read_bytes().count(b"\n") for log in (whole_log, cut_log)]
    in_flight = 16
    assert paid[1] <= paid[0] + kills * in_flight
