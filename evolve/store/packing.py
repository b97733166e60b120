"""JSON values as columns: ASCII text for what people query, packed bytes for what is large."""

from __future__ import annotations

import json
import zlib
from datetime import UTC, datetime

from evolve.core.hashing import JSONValue

_PLAIN = b"\x00"
_DEFLATED = b"\x01"
_WORTH_DEFLATING = 1024


def json_text(value: JSONValue) -> str:
    """Compact JSON in ASCII: emoji, line separators and even lone surrogates survive any database and locale.

    Raises ValueError for NaN or infinity and TypeError for what JSON cannot hold.
    """
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def pack_json(value: JSONValue) -> bytes:
    """JSON bytes, deflated when that is worth the time. NaN and infinity are kept: a trace records what happened."""
    data = json.dumps(value, separators=(",", ":")).encode("ascii")
    return _PLAIN + data if len(data) < _WORTH_DEFLATING else _DEFLATED + zlib.compress(data, 1)


def unpack_json(data: bytes) -> JSONValue:
    """The value that `pack_json` packed."""
    body = zlib.decompress(data[1:]) if data[:1] == _DEFLATED else data[1:]
    return json.loads(body)


def storable(text: str, limit: int) -> str:
    """`text` with what UTF-8 cannot hold escaped, cut to `limit` characters: for notes that nothing depends on."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")[:limit]


def utc_now() -> datetime:
    """The wall clock in UTC: the default of every clock argument."""
    return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """ISO 8601 in UTC with microseconds, so that text order is time order."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
