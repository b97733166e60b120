"""What all tests share: where the real task data lies, a home of their own, a custom scorer from source text."""

from __future__ import annotations

import os
import textwrap
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from evolve.evaluate.scorers.custom import CustomOptions, CustomScorer

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real task sets: EVOLVE_SHARED_DATA, else ../shared/data beside the project."""
    named = os.environ.get("EVOLVE_SHARED_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if folder.is_dir():
        return folder.resolve()
    reason = f"no task data at {folder}: set EVOLVE_SHARED_DATA to the folder that holds tasks/"
    if named and os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home that EVOLVE_HOME points to, in a folder with a space and a letter beyond ASCII."""
    folder = tmp_path / "höme folder" / ".evolve"
    folder.mkdir(parents=True)
    monkeypatch.setenv("EVOLVE_HOME", str(folder))
    return folder


@pytest.fixture
async def custom_scorer(tmp_path: Path) -> AsyncIterator[Callable[..., CustomScorer]]:
    """Writes source to a file and opens it as a scorer with the given options; closed after the test."""
    opened: list[CustomScorer] = []

    def open_custom(source: str, **options: object) -> CustomScorer:
        (tmp_path / "scorer.py").write_text(textwrap.dedent(source), encoding="utf-8")
        opened.append(CustomScorer(CustomOptions.model_validate({"path": "scorer.py", **options}), tmp_path))
        return opened[-1]

    yield open_custom
    for scorer in opened:
        await scorer.close()
