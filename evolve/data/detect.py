"""Which format a source has, told from its name and its columns, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evolve.core.errors import UserError
from evolve.data.read import read_rows

FORMATS = ("auto", "hf", "folder", "promptfoo", "inspect", "rows", "csv", "tsv", "json", "jsonl", "parquet")
SUFFIXES: Mapping[str, str] = {kind: f".{kind}" for kind in ("csv", "tsv", "json", "jsonl", "parquet")}
"""Formats that are rows of one kind, whatever the file is called."""

_LOOKED_AT = 50


def detect(source: Path) -> tuple[str, str]:
    """(format, why). UserError when there is no such source."""
    if source.is_dir():
        return "folder", "a folder of files, a split each"
    if not source.exists():
        raise UserError("there is no such file or folder", place=str(source), fix="check the path")
    suffix = source.suffix.lower()
    if suffix in (".yaml", ".yml"):
        return "promptfoo", "a YAML file of tests"
    if suffix == ".json" and _starts_object(source):
        return "promptfoo", "a JSON object, not a list of rows"
    return _by_columns(_columns(source), suffix)


def _by_columns(columns: set[str], suffix: str) -> tuple[str, str]:
    if any(name.startswith("__expected") for name in columns):
        return "promptfoo", "a column __expected"
    if {"vars", "assert"} <= columns and suffix in (".json", ".jsonl", ".ndjson"):
        return "promptfoo", "fields vars and assert"
    if {"input", "target"} <= columns and "expected" not in columns and suffix != ".parquet":
        return "inspect", "columns input and target"
    return "rows", "one case a row"


def _starts_object(source: Path) -> bool:
    with source.open(encoding="utf-8-sig", errors="replace") as file:
        return file.read(10_000).lstrip().startswith("{")


def _columns(source: Path) -> set[str]:
    """The columns of the first rows; none when the file is of no known suffix, which --format may know better."""
    try:
        return {name for row in read_rows(source, 10_000_000).rows[:_LOOKED_AT] for name in row.values}
    except UserError:
        return set()
