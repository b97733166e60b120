"""What all tests share: where the real task data lies, a home of their own, a custom scorer from source text."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from evolve.evaluate.scorers.custom import CustomOptions, CustomScorer
from evolve.store import Home, open_home

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


@pytest.fixture(scope="session")
def blank_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that was created once; each test works on a copy of it."""
    path = tmp_path_factory.mktemp("blank") / "home"
    open_home(path, create=True).close()
    return path


@pytest.fixture
def home(blank_home: Path, tmp_path: Path) -> Iterator[Home]:
    """An empty home, open."""
    opened = open_home(Path(shutil.copytree(blank_home, tmp_path / "home")))
    yield opened
    opened.close()


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
