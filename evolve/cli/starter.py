"""`evolve init`: a small project that runs as it is, or with the user's own cases."""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path

from evolve.core.errors import UserError
from harnesses.directory import write_harness
from harnesses.seeds import library_harness

STARTER = "evolve.cli.starter_files"


def write_starter(directory: Path, cases: Path | None) -> list[str]:
    """Writes into a new or empty directory and returns what was written, relative to it."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UserError("this is not a new or empty folder", place=str(directory), fix="name a new folder")
    source = _own_cases(cases) if cases is not None else None
    seed = library_harness("json-answer")
    write_harness(seed, directory / "harness")
    written = [f"harness/{path}" for path in seed]
    name = "cases.jsonl" if source is None else f"cases{source.suffix}"
    if source is None:
        (directory / name).write_bytes(_starter_bytes("cases.jsonl"))
    else:
        shutil.copyfile(source, directory / name)
    template = _starter_bytes("campaign.yaml").decode("utf-8")
    (directory / "campaign.yaml").write_text(template.replace("cases.jsonl", name), encoding="utf-8")
    return [*written, name, "campaign.yaml"]


def _own_cases(cases: Path) -> Path:
    if not cases.is_file():
        raise UserError("there is no such file", place=str(cases), fix="--cases PATH of a .jsonl, .json or .csv file")
    if cases.suffix not in (".jsonl", ".json", ".csv", ".tsv"):
        raise UserError(f"{cases.suffix!r} files cannot be read", place=str(cases), fix=".jsonl, .json, .csv or .tsv")
    return cases


def _starter_bytes(name: str) -> bytes:
    return resources.files(STARTER).joinpath(name).read_bytes()
