"""Canonical JSON and content hashes: the only way this engine turns values into identities."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from typing import Any

JSONValue = Any
"""A value that JSON can hold: None, bool, int, float (finite), str, list, dict with str keys."""

SHORT = 12
"""Characters of a hash that are shown to people."""


def canonical_json(value: JSONValue) -> bytes:
    """UTF-8 JSON with sorted keys, no spaces and no NaN; equal values give equal bytes.

    Raises ValueError for NaN or infinity and TypeError for what JSON cannot hold.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def sha256_hex(data: bytes) -> str:
    """The SHA-256 of `data` as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def content_hash(value: JSONValue) -> str:
    """The SHA-256 of the canonical JSON of `value`, 64 hex digits."""
    return sha256_hex(canonical_json(value))


def short(digest: str) -> str:
    """The first 12 characters of a hash, for people."""
    return digest[:SHORT]


def normal_text(text: str) -> str:
    """NFKC, casefolded, white space collapsed: two texts that a person would call the same compare equal."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def derive_seed(*parts: object) -> int:
    """A 63-bit seed that depends on every part; the same parts give the same seed on every machine."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:8], "big") >> 1
