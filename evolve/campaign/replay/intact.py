"""Whether a recording is what was saved: its replies by their own hashes, its rows by one."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path

from evolve.books import REDACTED
from evolve.campaign.replay.record import ROWS, Record, read_rows, rows_digest
from evolve.core.hashing import JSONValue, sha256_hex, short
from evolve.store.packing import unpack_json
from evolve.store.transfer import Line


def changed_reply(lines: Iterable[Line]) -> str:
    """The first reply whose text is not the one that was hashed when it came, in words; empty when all are."""
    calls: dict[JSONValue, dict[str, JSONValue]] = {}
    for table, row in lines:
        if table == "calls":
            calls[row["id"]] = row
        elif table == "call_ends" and _is_changed(row):
            call = calls.get(row["id"], {})
            return (
                f"the reply of role {call.get('role')} in loop {call.get('loop')}, step {call.get('step')!r}, for tree "
                f"{short(str(call.get('candidate')))} on case {short(str(call.get('case')))} was changed after it was "
                f"recorded (request {short(str(call.get('request_hash')))})"
            )
    return ""


def _is_changed(row: dict[str, JSONValue]) -> bool:
    if row["reply"] is None or not row["reply_hash"] or REDACTED in str(row["note"]):
        return False
    text: str = unpack_json(base64.b64decode(row["reply"]["base64"]))["text"]
    recorded: str = row["reply_hash"]
    return sha256_hex(text.encode("utf-8", "surrogatepass")) != recorded


def first_change(folder: Path, record: Record) -> str:
    """What was changed in the rows since they were saved, in words; empty when nothing was."""
    if words := changed_reply(read_rows(folder / ROWS)):
        return words
    if record.rows and record.rows != rows_digest(folder / ROWS):
        return f"{ROWS} was changed after it was saved"
    return ""
