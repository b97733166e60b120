"""A recording: a folder that holds everything a campaign's replay needs, and what came of it the first time."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evolve.core.errors import UserError
from evolve.core.hashing import sha256_hex
from evolve.core.messages import Capability
from evolve.store.transfer import Line

RECORD, EXPECTED, ROWS, SECONDS = "record.json", "expected.json", "rows.jsonl.gz", "seconds.json.gz"
CAMPAIGN, HARNESS = "campaign.yaml", "harness"
SCHEMA = 1

_FORM = ConfigDict(extra="forbid", frozen=True)


class RecordedRole(BaseModel):
    """Who played a model role, and what it could do."""

    model_config = _FORM

    identity: str
    capabilities: tuple[Capability, ...]


class Record(BaseModel):
    """What was recorded. `cases` and `scorer` are paths inside the folder; `rows` is the hash of the rows, unpacked."""

    model_config = _FORM

    schema_: Literal[1] = Field(alias="schema")
    engine: str
    campaign: str
    portfolio: str
    cases: str
    scorer: str | None
    models: dict[str, RecordedRole]
    rows: str = ""


class LedgerLine(BaseModel):
    """One thing that happened."""

    model_config = _FORM

    kind: str
    subject: str
    detail: dict[str, Any]


class Expected(BaseModel):
    """How the campaign stood when it was recorded; `version` is the content hash of what it promoted, if anything."""

    model_config = _FORM

    status: str
    conclusion: str | None
    version: str | None
    ledger: tuple[LedgerLine, ...]


def write_document(path: Path, document: BaseModel) -> None:
    """Readable JSON, the same bytes for the same content."""
    data = document.model_dump(mode="json", by_alias=True)
    path.write_text(json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def read_record(folder: Path) -> Record:
    """UserError when the folder is no recording or was written in a later form."""
    path = folder / RECORD
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(data, dict) and isinstance(data.get("schema"), int) and data["schema"] > SCHEMA:
            fix = "replay it with the engine that wrote it, or a later one"
            raise UserError(f"it is in form {data['schema']}, and this engine reads {SCHEMA}", place=str(path), fix=fix)
        return Record.model_validate(data)
    except (OSError, ValueError, ValidationError) as error:
        raise UserError(f"this is no recording: {error}", place=str(path), fix="evolve replay ID --save DIR") from error


def read_expected(folder: Path) -> Expected:
    """UserError when the file is missing or damaged."""
    path = folder / EXPECTED
    try:
        return Expected.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"the recording is damaged: {error}", place=str(path), fix="record it again") from error


def write_rows(path: Path, lines: Iterable[Line]) -> None:
    """One JSON list a line, packed without a time stamp, so that equal rows give equal bytes."""
    with path.open("wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
        for name, row in lines:
            packed.write(json.dumps([name, row], sort_keys=True, separators=(",", ":")).encode("ascii") + b"\n")


def read_rows(path: Path) -> Iterator[Line]:
    """What `write_rows` wrote. UserError when it is damaged."""
    try:
        with gzip.open(path, "rt", encoding="ascii") as lines:
            for line in lines:
                name, row = json.loads(line)
                yield name, row
    except (OSError, EOFError, ValueError) as error:
        raise UserError(f"the recording is damaged: {error}", place=str(path), fix="record it again") from error


def rows_digest(path: Path) -> str:
    """The hash of the unpacked rows: packing depends on the machine. UserError when the file is damaged."""
    try:
        return sha256_hex(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError) as error:
        raise UserError(f"the recording is damaged: {error}", place=str(path), fix="record it again") from error


def write_packed(path: Path, value: Any) -> None:
    """One JSON value, packed."""
    path.write_bytes(gzip.compress(json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii"), mtime=0))


def read_packed(path: Path) -> Any:
    """What `write_packed` wrote. UserError when it is damaged."""
    try:
        return json.loads(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, ValueError) as error:
        raise UserError(f"the recording is damaged: {error}", place=str(path), fix="record it again") from error
