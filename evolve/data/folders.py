"""Folders of one file or several a split, as dataset libraries lay them out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from evolve.core.errors import UserError
from evolve.data.read import READERS, read_rows
from evolve.data.rows import BadRow, RowsRead

SPLIT_COLUMN = "split"
SPLITS: Mapping[str, str] = {
    "train": "train",
    "training": "train",
    "validation": "dev",
    "valid": "dev",
    "val": "dev",
    "dev": "dev",
    "test": "heldout",
    "testing": "heldout",
    "heldout": "heldout",
}
"""What others call a split → what it is called here."""

_WORDS = re.compile(r"[a-z]+")


def read_folder(folder: Path, max_line_bytes: int) -> RowsRead:
    """All rows of all shards in the order of their names, with a column that says the split of each.

    UserError when there is no file of rows, or when a file's split cannot be told from its name or folder.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix.lower() in READERS)
    files = [path for path in files if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    if not files:
        raise UserError("no files of rows in this folder", place=str(folder), fix=f"one of {', '.join(READERS)}")
    whole = RowsRead()
    for path in files:
        split, name = split_of(path, folder)
        part = read_rows(path, max_line_bytes)
        start = len(whole.rows) + len(whole.bad)
        for row in part.rows:
            if SPLIT_COLUMN in row.values and row.values[SPLIT_COLUMN] != split:
                place = f"{path}:{row.line}"
                raise UserError("its column `split` says something else than its file", place=place, fix="remove it")
            whole.rows.append(replace(row, line=start + row.line, values={**row.values, SPLIT_COLUMN: split}))
        whole.bad += [BadRow(start + bad.line, f"{path.name}: {bad.reason}") for bad in part.bad]
        whole.notes.append(f"{path.relative_to(folder)}: {len(part.rows)} rows, {name} → {split}")
        whole.notes += [f"{path.name}: {note}" for note in part.notes]
    return whole


def split_of(path: Path, folder: Path) -> tuple[str, str]:
    """(split, the word that says so): the first word of the file's name, else of the nearest folder's."""
    relative = path.relative_to(folder)
    for part in (relative.stem, *(parent.name for parent in relative.parents)):
        words = _WORDS.findall(part.lower())
        found = next((word for word in words if word in SPLITS), None)
        if found is not None:
            return SPLITS[found], found
    known = ", ".join(SPLITS)
    raise UserError("which split is this?", place=str(path), fix=f"name it, or its folder, after one of {known}")
