from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from evolve.store import Home, open_home


@pytest.fixture(scope="session")
def blank_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that was created once; each test works on a copy of it."""
    path = tmp_path_factory.mktemp("blank") / "home"
    open_home(path, create=True).close()
    return path


@pytest.fixture
def home(blank_home: Path, tmp_path: Path) -> Iterator[Home]:
    opened = open_home(Path(shutil.copytree(blank_home, tmp_path / "home")))
    yield opened
    opened.close()
