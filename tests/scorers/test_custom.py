"""Custom scorers: a user's function in a child process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evolve.core.errors import UserError
from evolve.evaluate.scorers import ScorerFault
from evolve.evaluate.scorers.custom import CustomOptions, CustomScorer

ROOT = Path(__file__).resolve().parents[2]


async def test_a_number_is_a_score(custom_scorer) -> None:
    scorer = custom_scorer("def score(output, expected): return 1.0 if output == expected else 0.25")
    assert (await scorer.score({"a": [1, "ü"]}, {"a": [1, "ü"]})).value == 1.0
    assert (await scorer.score("x", None)).value == 0.25


async def test_a_score_object_keeps_its_reason_and_may_be_ungraded(custom_scorer) -> None:
    scorer = custom_scorer("""
        from evolve.core.scores import Score
        def score(output, expected):
            return Score.graded(0.5, "half right") if output else Score.ungraded("nothing to grade")
    """)
    half, none = await scorer.score("x", ""), await scorer.score("", "")
    assert (half.value, half.reason) == (0.5, "half right")
    assert (none.value, none.reason) == (None, "nothing to grade")


async def test_another_function_and_a_module_beside_it(custom_scorer, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("GOOD = 'yes'", encoding="utf-8")
    scorer = custom_scorer("import beside\ndef grade(o, e): return int(o == beside.GOOD)", function="grade")
    assert (await scorer.score("yes", "")).value == 1.0


@pytest.mark.parametrize("source", ["import absent_module", "def scores(o, e): return 1", "raise SystemExit(0)", "1/0"])
async def test_what_cannot_be_loaded_is_a_fault_with_the_traceback(custom_scorer, source: str) -> None:
    with pytest.raises(ScorerFault, match="could not be loaded") as caught:
        await custom_scorer(source).score("x", "y")
    assert "Traceback" in caught.value.details


async def test_a_misspelt_function_names_the_nearest(custom_scorer) -> None:
    with pytest.raises(ScorerFault) as caught:
        await custom_scorer("def scores(o, e): return 1").score("x", "y")
    assert "did you mean 'scores'" in caught.value.details


def test_an_absent_file_and_a_syntax_error_are_found_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("ran = 1\ndef score(:\n", encoding="utf-8")
    with pytest.raises(UserError, match="cannot read"):
        CustomScorer(CustomOptions(path="absent.py"), tmp_path)
    with pytest.raises(UserError, match=r"broken\.py:2: not valid Python"):
        CustomScorer(CustomOptions(path="broken.py"), tmp_path)


async def test_the_identity_follows_the_source_not_the_folder_or_the_workers(tmp_path: Path) -> None:
    identities = {}
    for name, source, workers in [("a", "1", 1), ("b", "1", 2), ("c", "2", 1)]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "s.py").write_text(f"def score(o, e): return {source}", encoding="utf-8")
        scorer = CustomScorer(CustomOptions(path="s.py", workers=workers), tmp_path / name)
        identities[name] = scorer.identity
        await scorer.close()
    assert identities["a"] == identities["b"] != identities["c"]


async def test_the_identity_follows_the_files_it_names(custom_scorer, tmp_path: Path) -> None:
    source = "def score(o, e): return 1"
    (tmp_path / "words.txt").write_text("one", encoding="utf-8")
    before = custom_scorer(source, files=["words.txt"]).identity
    (tmp_path / "words.txt").write_text("two", encoding="utf-8")
    assert custom_scorer(source, files=["words.txt"]).identity != before


async def test_outputs_larger_than_a_pipe_pass(custom_scorer) -> None:
    scorer = custom_scorer("def score(o, e): return len(o) / 5_000_000")
    assert (await scorer.score("x" * 5_000_000, None)).value == 1.0


async def test_one_child_serves_many_cases_and_workers_score_side_by_side(custom_scorer) -> None:
    source = "import os, time\ndef score(o, e):\n    time.sleep(0.3)\n    return os.getpid() / 1e9"
    one = custom_scorer(source)
    assert len({(await one.score(n, None)).value for n in range(2)}) == 1
    two = custom_scorer(source, workers=2)
    await asyncio.gather(two.score(0, None), two.score(0, None))
    start = time.monotonic()
    pids = await asyncio.gather(*(two.score(n, None) for n in range(4)))
    assert time.monotonic() - start < 1.1
    assert len({score.value for score in pids}) == 2


async def test_a_changed_directory_or_standard_input_reads_nothing(custom_scorer) -> None:
    scorer = custom_scorer("import sys\ndef score(o, e): return float(sys.stdin.read() == '')")
    assert (await scorer.score("x", "y")).value == 1.0


async def test_close_is_repeatable_and_ends_a_score_under_way(custom_scorer) -> None:
    scorer = custom_scorer("import time\ndef score(o, e): time.sleep(60)", timeout_seconds=50)
    waiting = asyncio.create_task(scorer.score("x", "y"))
    await asyncio.sleep(0.5)
    start = time.monotonic()
    await scorer.close()
    await scorer.close()
    with pytest.raises(ScorerFault):
        await waiting
    assert time.monotonic() - start < 5


@pytest.mark.skipif(sys.platform != "linux", reason="a parent's death is signalled to children on Linux only")
def test_the_child_dies_with_a_killed_parent(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text(
        "import os\ndef score(o, e):\n    open(o, 'w').write(str(os.getpid()))\n    while True: pass\n",
        encoding="utf-8",
    )
    program = f"""
import asyncio
from pathlib import Path
from evolve.evaluate.scorers.custom import CustomOptions, CustomScorer
scorer = CustomScorer(CustomOptions(path="s.py", timeout_seconds=60), Path({str(tmp_path)!r}))
asyncio.run(scorer.score({json.dumps(str(tmp_path / "pid"))}, None))
"""
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)
    until = time.monotonic() + 20
    while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    child = int((tmp_path / "pid").read_text())
    parent.kill()
    parent.wait()
    while running(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not running(child)


def running(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


async def test_the_child_sees_no_keys(custom_scorer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("MY_DB_PASSWORD", "hunter2")
    monkeypatch.setenv("HARMLESS", "seen")
    scorer = custom_scorer("""
        import os
        def score(output, expected):
            values = set(os.environ.values())
            return float(not values & {"sk-secret", "hunter2"} and "seen" in values)
    """)
    assert (await scorer.score("x", None)).value == 1.0
