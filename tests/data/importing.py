"""Importing as the tests of every format use it, with the campaign's own reading as the proof."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evolve.data import load_cases, split_cases
from evolve.data.importing import Imported, ImportOptions, import_cases


def imported(source: Path, folder: Path, **options: Any) -> tuple[Imported, list[dict[str, Any]]]:
    """(what was imported, the rows written); whatever was written, a campaign with the printed settings accepts."""
    out = folder / "cases.jsonl"
    found = import_cases(source, out, ImportOptions(**options))
    report = load_cases(out, found.settings)
    assert not report.skipped
    if found.dataset is not None:
        again = split_cases(report.cases, found.settings.split, report.origins)
        assert again.content_hash == found.dataset.content_hash
    return found, [json.loads(line) for line in out.read_bytes().split(b"\n") if line]


def json_lines(path: Path, *rows: Any) -> Path:
    """A file of JSON lines at `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
