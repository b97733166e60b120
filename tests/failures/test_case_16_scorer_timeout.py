"""A scorer that never ends is dead within its limit + 5 s, is a scorer fault, and the next case is scored."""

from __future__ import annotations

import time

import pytest

from evolve.evaluate.scorers import ScorerFault

LIMIT = 0.5
ENDLESS = {
    "loops for ever": "while True: pass",
    "ignores SIGTERM": "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()",
    "blocks in C": "sum(itertools.repeat(1))",
    "blocks in C in a thread": "t = threading.Thread(target=sum, args=(itertools.repeat(1),)); t.start(); t.join()",
    "prints for ever": "\n        while True: print('x' * 1000)",
    "swallows everything": """
        while True:
            try: time.sleep(10)
            except BaseException: pass""",
    "waits for a child": "subprocess.run(['sleep', '1000'])",
    "holds the pipe": "subprocess.Popen(['sleep', '1000']); time.sleep(1000)",
    "holds the pipe in a session of its own": """
        if os.fork() == 0:
            os.setsid(); time.sleep(20); os._exit(0)
        time.sleep(1000)""",
    "reads the requests": "os.read(3, 1 << 20); time.sleep(1000)",
}

SOURCE = """
import itertools, os, signal, subprocess, threading, time
def score(output, expected):
    if output == "hard":
        {body}
    return 1.0
"""


@pytest.mark.parametrize("name", ENDLESS)
async def test_a_scorer_that_never_ends_is_killed_and_the_run_goes_on(custom_scorer, name: str) -> None:
    scorer = custom_scorer(SOURCE.format(body=ENDLESS[name]), timeout_seconds=LIMIT)
    assert (await scorer.score("easy", None)).value == 1.0
    start = time.monotonic()
    with pytest.raises(ScorerFault, match=r"no score within 0\.5 s"):
        await scorer.score("hard", None)
    assert time.monotonic() - start < LIMIT + 5
    assert (await scorer.score("easy", None)).value == 1.0


async def test_the_whole_group_dies_with_the_scorer(custom_scorer, tmp_path) -> None:
    beat = tmp_path / "beat"
    scorer = custom_scorer(
        f"""
        import subprocess, time
        def score(output, expected):
            subprocess.Popen(["sh", "-c", "while :; do echo . >> '{beat}'; sleep 0.05; done"])
            time.sleep(1000)
        """,
        timeout_seconds=LIMIT,
    )
    with pytest.raises(ScorerFault):
        await scorer.score("x", None)
    time.sleep(0.2)
    size = beat.stat().st_size
    assert size > 0
    time.sleep(0.3)
    assert beat.stat().st_size == size


async def test_loading_for_ever_is_killed_too(custom_scorer) -> None:
    scorer = custom_scorer("while True: pass", load_seconds=LIMIT)
    start = time.monotonic()
    with pytest.raises(ScorerFault, match="no score within"):
        await scorer.score("x", None)
    assert time.monotonic() - start < LIMIT + 5


async def test_a_request_that_is_never_read_does_not_block(custom_scorer) -> None:
    scorer = custom_scorer("import time\ndef score(o, e): time.sleep(1000)", timeout_seconds=LIMIT)
    start = time.monotonic()
    with pytest.raises(ScorerFault):
        await scorer.score("x" * 20_000_000, None)
    assert time.monotonic() - start < LIMIT + 5
