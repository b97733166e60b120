"""Secrets out of text: whatever the environment holds, and what is shaped like a well-known key.

A secret becomes `[redacted:NAME]`, where NAME is its variable or its kind. Nothing else of a text changes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TypeVar
from urllib.parse import urlsplit

from evolve.core.environment import sounds_secret
from evolve.core.hashing import JSONValue

SHORTEST = 8
"""Characters that a value needs to count as a secret: shorter ones occur in honest text."""
KINDS: Mapping[str, str] = MappingProxyType(
    {
        "anthropic_key": r"sk-ant-(?<![A-Za-z0-9]sk-ant-)[A-Za-z0-9_-]{16,}",
        "openai_key": r"sk-(?<![A-Za-z0-9]sk-)[A-Za-z0-9_-]{20,}",
        "github_token": r"g(?:h[pousr]_|ithub_pat_)[A-Za-z0-9_]{20,}",
        "aws_key": r"A(?:KI|SI)A(?<![A-Za-z0-9]....)[0-9A-Z]{16}",
        "bearer": r"earer (?=[A-Za-z._~+/-]*\d)[A-Za-z0-9._~+/-]{16,}=*",
        "private_key": (
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----"
            r"(?:(?!-----)[\s\S])*(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?"
        ),
    }
)
"""Well-known shapes by the name that replaces them."""
_HINTS = (
    ("sk-", "openai_key"),
    ("_", "github_token"),
    ("AKIA", "aws_key"),
    ("ASIA", "aws_key"),
    ("earer ", "bearer"),
    ("PRIVATE KEY-----", "private_key"),
)
_HINTED = tuple((hint, re.compile(KINDS[kind])) for hint, kind in _HINTS)
"""Fixed text of each shape, and the shape: looking for the text first is fast. (`sk-ant-` is `sk-` too.)"""

_SIGN = re.compile(r"\w")

E = TypeVar("E", bound=BaseException)


@dataclass(frozen=True)
class Redactor:
    """`secrets` maps a value to the name that replaces it. Immutable, safe to share between threads, never raises."""

    secrets: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, environment: Mapping[str, str], names: Iterable[str] = ()) -> Redactor:
        """The secrets of an environment: variables that sound like one, those in `names`, passwords of addresses."""
        asked = set(names)
        found: dict[str, str] = {}
        for name, value in sorted(environment.items()):
            secret = value if name in asked or sounds_secret(name, value) else _password(value)
            for form in _forms(secret):
                found.setdefault(form, name)
        return cls(MappingProxyType(found))

    def also(self, other: Redactor) -> Redactor:
        """One that knows the secrets of both."""
        return self if other.secrets.items() <= self.secrets.items() else Redactor({**other.secrets, **self.secrets})

    def text(self, text: str) -> str:
        """`text` with every secret replaced; repeating it changes nothing."""
        if not self._suspects(text):
            return text
        while True:
            # A replacement can bring the ends of another secret together, so it is done until nothing is found.
            pieces = self._own_marks.split(text)
            pieces[::2] = [self._pattern.sub(self._mark, piece) for piece in pieces[::2]]
            clean = "".join(pieces)
            if clean == text:
                return text
            text = clean

    def value(self, value: JSONValue) -> JSONValue:
        """A JSON value with every secret in its strings and keys replaced; the same object when there is none."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            clean = {self._key(key): self.value(inner) for key, inner in value.items()}
            return clean if _differs(value.keys(), clean.keys()) or _differs(value.values(), clean.values()) else value
        if isinstance(value, (list, tuple)):
            items = [self.value(inner) for inner in value]
            return items if _differs(value, items) else value
        return value

    def finds(self, text: str) -> bool:
        """Whether there is a secret in `text`."""
        return self.text(text) != text

    def _key(self, key: JSONValue) -> JSONValue:
        return self.text(key) if isinstance(key, str) else key

    def _suspects(self, text: str) -> bool:
        """A few fast scans that let honest text pass; a secret is never missed."""
        for secret in self.secrets:
            if secret in text:
                return True
        return any(hint in text and shape.search(text) is not None for hint, shape in _HINTED)

    def _mark(self, match: re.Match[str]) -> str:
        if match.lastgroup is None:
            return f"[redacted:{self.secrets[match.group()]}]"
        head = "earer " if match.lastgroup == "bearer" else ""
        return f"{head}[redacted:{match.lastgroup}]"

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """One expression: the longest secrets first, so that none hides behind its own beginning."""
        known = [re.escape(secret) for secret in sorted(self.secrets, key=lambda s: (-len(s), s))]
        shapes = [f"(?P<{kind}>{shape})" for kind, shape in KINDS.items()]
        return re.compile("|".join([*known, *shapes]))

    @cached_property
    def _own_marks(self) -> re.Pattern[str]:
        """Marks that this redactor writes. Others are text like any other: a secret cannot hide in a made-up mark."""
        names = {*KINDS, *self.secrets.values()}
        return re.compile(r"(\[redacted:(?:" + "|".join(map(re.escape, sorted(names))) + r")\])")


def _differs(before: Collection[JSONValue], after: Collection[JSONValue]) -> bool:
    return len(before) != len(after) or any(a is not b for a, b in zip(before, after, strict=True))


def redacted_error(error: E, redactor: Redactor) -> E:
    """The same error with the secrets out of everything that is printed of it."""
    error.args = tuple(redactor.value(list(error.args)))
    for name, said in vars(error).items():
        if isinstance(said, str):
            setattr(error, name, redactor.text(said))
    return error


def _password(address: str) -> str:
    """The password in an address such as `postgres://user:password@host`."""
    if "://" not in address or "@" not in address:
        return ""
    try:
        return urlsplit(address).password or ""
    except ValueError:
        return ""


def _forms(secret: str) -> Collection[str]:
    """The value, and how it looks inside JSON text."""
    plain = secret.strip()
    if len(plain) < SHORTEST:
        return ()
    return dict.fromkeys((plain, json.dumps(plain)[1:-1], json.dumps(plain, ensure_ascii=False)[1:-1]))


def shape_of(text: str) -> str:
    """`text` with every letter and digit masked: length, layout and punctuation stay, and no word can be read.

    It is what a router's table keeps of a query whose text may not be kept: its lexical features need no more.
    """
    return _SIGN.sub(_mask, text)


def _mask(match: re.Match[str]) -> str:
    sign = match.group()
    if sign == "_":
        return sign
    if sign.isnumeric():
        return "0"
    small, capital = ("x", "X") if sign.isascii() else ("é", "É")
    return capital if sign.isupper() else small
