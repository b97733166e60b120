"""Real processes around a mailbox folder: one that asks, and some that answer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

ASKER = """
import asyncio, json, sys
from pathlib import Path
from evolve.core.messages import Message, ModelRequest
from evolve.models.mailbox import Box, MailboxLimits, MailboxModel
model = MailboxModel(Box(Path(sys.argv[1])), MailboxLimits(timeout_seconds=20, poll_seconds=0.05))
request = ModelRequest((Message("user", "who are you?"),), call=sys.argv[2])
print(asyncio.run(model.reply(request)).text, flush=True)
"""

READERS = """
import json, os, sys, time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from evolve.core.errors import PointerMoved
from evolve.models.mailbox import Box
box, readers, rounds = Box(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])

def read(me, start):
    won, told, held = [], 0, []
    for number in range(rounds):
        time.sleep(max(0.0, start + 0.02 * number - time.time()))
        try:
            box.answer(f"{number:012d}-0", json.dumps({"text": me}).encode(), me, datetime.now(timezone.utc))
            won.append(number)
        except PointerMoved as lost:
            told += "somebody else was first" in str(lost)
        time.sleep(max(0.0, start + 0.02 * number + 0.01 - time.time()))
        try:
            box.claim(f"{number:012d}-1", me, datetime.now(timezone.utc), timedelta(minutes=5))
            held.append(number)
        except PointerMoved:
            pass
    os.write(1, (json.dumps({"me": me, "won": won, "told": told, "held": held}) + "\\n").encode())

start = time.time() + 0.2
for number in range(readers):
    if os.fork() == 0:
        read(f"reader {number}", start)
        os._exit(0)
for _ in range(readers):
    assert os.wait()[1] == 0
"""


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
