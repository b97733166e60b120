"""Case 29: kill -9 at numbered durable writes and at random moments, resumed twice: the uninterrupted result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KILLS = 16


def test_killed_campaigns_end_as_if_nothing_had_happened_and_repay_only_calls_in_flight() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "chaos.py"), "--kills", str(KILLS), "--seed", "100"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["kills"] >= KILLS
    assert figures["conclusion"] == ["promoted"]
    assert figures["violations"] == 0, done.stdout
    assert figures["repaid_calls"] == 0, done.stdout
