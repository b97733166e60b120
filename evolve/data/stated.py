"""A file of cases alone: read as the file itself says, for there is no campaign to say it."""

from __future__ import annotations

from pathlib import Path

from evolve.core.cases import Split
from evolve.data.folders import SPLIT_COLUMN
from evolve.data.read import read_rows
from evolve.data.settings import DataSettings, SplitSettings

_NAMES = frozenset(split.value for split in Split)


def stated_settings(path: Path) -> DataSettings:
    """Default settings, with the split and group columns that `data import` writes, if the file has them."""
    settings = DataSettings(cases=path.name)
    rows = read_rows(path, settings.max_line_bytes).rows
    splits = {str(row.values.get(SPLIT_COLUMN)) for row in rows}
    if splits == _NAMES:
        settings = settings.model_copy(update={"split": SplitSettings(column=SPLIT_COLUMN)})
    grouped = any("group" in row.values for row in rows)
    return settings.model_copy(update={"group_by": "group"}) if grouped else settings
