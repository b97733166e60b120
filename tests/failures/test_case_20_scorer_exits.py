"""A scorer that prints, exits or crashes costs the case it did it on at most, never the run."""

from __future__ import annotations

import pytest

from evolve.evaluate.scorers import ScorerFault

FATAL = {
    "sys.exit(0)": ("sys.exit(0)", "SystemExit: 0"),
    "KeyboardInterrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "os._exit(0)": ("os._exit(0)", r"process ended \(exit 0\)"),
    "os.abort()": ("os.abort()", r"process ended \(signal 6\)"),
    "segmentation fault": ("ctypes.string_at(0)", r"process ended \(signal 11\)"),
    "kill -9 of itself": ("os.kill(os.getpid(), 9)", r"process ended \(signal 9\)"),
    "kill of its group": ("os.killpg(0, 9)", r"process ended \(signal 9\)"),
    "closes every descriptor": ("os.closerange(0, 100)", "process ended|Bad file descriptor"),
    "endless recursion": ("score(output, expected)", "RecursionError"),
    "an error without a text": ("raise Unshown", "Unshown"),
}

SOURCE = """
import ctypes, os, sys
class Unshown(Exception):
    def __str__(self): raise ValueError('no text')
def score(output, expected):
    if output == "bad":
        {body}
    return 1.0
"""


@pytest.mark.parametrize("name", FATAL)
async def test_an_exit_costs_one_case(custom_scorer, name: str) -> None:
    body, message = FATAL[name]
    scorer = custom_scorer(SOURCE.format(body=body))
    assert (await scorer.score("good", None)).value == 1.0
    with pytest.raises(ScorerFault, match=message):
        await scorer.score("bad", None)
    assert (await scorer.score("good", None)).value == 1.0


async def test_an_interpreter_that_forks_does_not_shift_the_answers(custom_scorer) -> None:
    scorer = custom_scorer(SOURCE.format(body="os.fork(); return 0.5"))
    outcomes = []
    for output in ("bad", "good", "good", "good"):
        try:
            outcomes.append((output, (await scorer.score(output, None)).value))
        except ScorerFault:
            outcomes.append((output, None))
    assert all(value in (None, {"bad": 0.5, "good": 1.0}[output]) for output, value in outcomes)
    assert outcomes[-1] == ("good", 1.0)


NOISE = [
    "print('{\"value\": 0}')",
    "sys.stdout.write('no newline')",
    'os.write(1, b\'{"id": 1, "value": 0}\\n\')',
    "sys.__stdout__.write('x' * 1_000_000)",
    "sys.stderr.write('x' * 1_000_000)",
    "os.system('echo loud; echo louder >&2')",
    "print('\U0001f389 \u6771\u4eac')",
]


@pytest.mark.parametrize("noise", NOISE)
async def test_prints_do_not_reach_the_score(custom_scorer, noise: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    scorer = custom_scorer(f"import os, sys\n{noise}\ndef score(output, expected):\n    {noise}\n    return 0.75")
    assert [(await scorer.score(n, None)).value for n in range(2)] == [0.75, 0.75]


async def test_what_was_printed_helps_to_find_the_fault(custom_scorer) -> None:
    scorer = custom_scorer("import os\ndef score(o, e):\n    print('about to leave', flush=True)\n    os._exit(3)")
    with pytest.raises(ScorerFault, match=r"exit 3") as caught:
        await scorer.score("x", None)
    assert "about to leave" in caught.value.details


async def test_a_reply_without_end_is_cut_off(custom_scorer) -> None:
    scorer = custom_scorer("""
        import os
        def score(output, expected):
            for fd in range(3, 20):
                try: os.write(fd, b"x" * 200_000)
                except OSError: pass
            return 1
    """)
    with pytest.raises(ScorerFault, match=r"more than 65,536 bytes|no score within|process ended"):
        await scorer.score("x", None)
