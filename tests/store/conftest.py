from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evolve.store import Home, open_home


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    opened = open_home(tmp_path / "home", create=True)
    yield opened
    opened.close()
