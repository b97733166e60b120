"""Printing: one JSON object with --json, else lines for people; errors go to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def emit(as_json: bool, document: Any, lines: Iterable[str]) -> None:
    """Prints `document` as JSON or `lines` as text, UTF-8 whatever the locale says."""
    text = json.dumps(document, ensure_ascii=False, default=str) if as_json else "\n".join(lines)
    write(text + "\n")


def write(text: str) -> None:
    """Writes UTF-8 bytes to stdout; lone surrogates are escaped."""
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()
