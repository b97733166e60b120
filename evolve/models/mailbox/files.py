"""Files that appear whole or not at all, and stay."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evolve.core.errors import WorldError
from evolve.core.hashing import JSONValue

PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600


@contextmanager
def disk(place: Path) -> Iterator[None]:
    """Turns a refusal of the disk into a WorldError that halts: every other request would fail alike."""
    try:
        yield
    except OSError as error:
        raise WorldError(
            f"the mailbox {place} cannot be used: {error.strerror or error}\n"
            "  fix: mend the disk or its permissions, then go on with --resume",
            passing=False,
            halts=True,
        ) from error


def json_bytes(value: JSONValue) -> bytes:
    """Indented JSON for people, UTF-8; text that UTF-8 cannot hold (a lone surrogate) is escaped."""
    try:
        return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(value, indent=2, allow_nan=False).encode() + b"\n"


def replace_file(path: Path, data: bytes) -> None:
    """`path` holds `data` afterwards, whatever it held; a reader sees the old or the new, never a part."""
    temporary = _write_beside(path, data)
    os.replace(temporary, path)
    _keep_folder(path.parent)


def create_file(path: Path, data: bytes) -> None:
    """A new, whole `path`. FileExistsError when somebody was first; then nothing changed."""
    temporary = _write_beside(path, data)
    try:
        os.link(temporary, path)
    finally:
        temporary.unlink()
    _keep_folder(path.parent)


def _write_beside(path: Path, data: bytes) -> Path:
    temporary = path.parent / f".{path.name}.{uuid.uuid4().hex}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(descriptor)
    return temporary


def _keep_folder(folder: Path) -> None:
    """A name is durable when its folder is."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
