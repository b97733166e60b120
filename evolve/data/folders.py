"""Folders of one file or several a split, as dataset libraries lay them out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
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
    "eval": "heldout",
    "evaluation": "heldout",
    "heldout": "heldout",
}
"""What others call a split → what it is called here."""

DESCRIPTIONS = frozenset({"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json"})
"""JSON files about a dataset, which hold no rows of it."""

_WORDS = re.compile(r"[a-z]+")


def read_folder(folder: Path, max_line_bytes: int) -> RowsRead:
    """All rows of all shards in the order of their names, with a column that says the split of each.

    UserError when there is no file of rows, when a file's split cannot be told from its name or folder, and when the
    folder holds several datasets.
    """
    files, aside = _files(folder)
    if not files:
        raise UserError("no files of rows in this folder", place=str(folder), fix=f"one of {', '.join(READERS)}")
    _refuse_several(folder, files)
    whole = RowsRead(notes=[f"not read: {', '.join(aside)}"] if aside else [])
    for path in files:
        _add_file(whole, path, folder, max_line_bytes)
    return whole


def _files(folder: Path) -> tuple[list[Path], list[str]]:
    """(files of rows, names of other files that may hold data)."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    found = [path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    rows = [path for path in found if path.suffix.lower() in READERS and path.name not in DESCRIPTIONS]
    about = {".md", ".txt", ".py"}
    aside = [path for path in found if path not in rows and path.suffix.lower() not in about]
    return rows, [str(path.relative_to(folder)) for path in aside if path.name not in DESCRIPTIONS]


def _refuse_several(folder: Path, files: Sequence[Path]) -> None:
    """Shards of one split lie in one folder; the same split in two is two subsets, which must not be mixed."""
    named = {path: split_of(path, folder)[0] for path in files}
    splits = Counter(split for split, _ in {(named[path], path.parent) for path in files})
    several = [split for split, count in splits.items() if count > 1]
    if several:
        homes = sorted({str(path.parent.relative_to(folder)) for path in files if named[path] == several[0]})
        fix = f"import one of them: {folder / homes[0]}"
        raise UserError(f"{several[0]} stands in several folders: {', '.join(homes)}", place=str(folder), fix=fix)


def _add_file(whole: RowsRead, path: Path, folder: Path, max_line_bytes: int) -> None:
    split, name = split_of(path, folder)
    part = read_rows(path, max_line_bytes)
    start = max([row.line for row in whole.rows[-1:]] + [bad.line for bad in whole.bad[-1:]], default=0)
    whole.starts.append((start, str(path.relative_to(folder))))
    for row in part.rows:
        if SPLIT_COLUMN in row.values and SPLITS.get(str(row.values[SPLIT_COLUMN])) != split:
            place = f"{path}:{row.line}"
            raise UserError("its column `split` says something else than its file", place=place, fix="remove it")
        whole.rows.append(replace(row, line=start + row.line, values={**row.values, SPLIT_COLUMN: split}))
    whole.bad += [BadRow(start + bad.line, bad.reason) for bad in part.bad]
    whole.notes.append(f"{path.relative_to(folder)}: {len(part.rows)} rows, {name} → {split}")
    whole.notes += [f"{path.name}: {note}" for note in part.notes]


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
