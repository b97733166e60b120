"""What a refusal of an OpenAI-compatible endpoint means here: passing or not, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evolve.core.errors import WorldError
from evolve.models.errors import PromptTooLong
from evolve.models.waits import read_retry_after

_SERVER_FAULT = 500
_PASSING = frozenset({408, 409, 425, 429})
_UNAUTHORIZED = 401
_HALTING = frozenset({402, 404})
"""An empty account and a missing model: every other call would be refused alike."""
_TOO_LONG = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_NO_CREDIT = "insufficient_quota"


@dataclass(frozen=True, slots=True)
class Fault:
    """A refusal without its request. `status` is None when no answer came; `codes` are the provider's words for it."""

    identity: str
    key_name: str
    message: str
    status: int | None = None
    codes: frozenset[str] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)


def translate_fault(fault: Fault, now: float) -> WorldError:
    """PromptTooLong or another WorldError; `now` is Unix time.

    Time-outs, lost connections, 408, 409, 425, 429 and 5xx are passing; an empty account (also said as a 429) and all
    other refusals are not. A refused key, an empty account and a missing model halt.
    """
    if fault.status is None:
        return WorldError(f"{fault.identity}: {fault.message}", passing=True)
    if fault.codes & _TOO_LONG:
        return PromptTooLong(fault.identity, fault.message)
    if fault.status == _UNAUTHORIZED:
        # The provider's message quotes parts of the key: it is not repeated.
        words = f"{fault.identity}: 401: the key was refused; {_fix_key(fault.key_name)}"
        return WorldError(words, passing=False, halts=True)
    empty = _NO_CREDIT in fault.codes
    passing = (fault.status in _PASSING or fault.status >= _SERVER_FAULT) and not empty
    return WorldError(
        f"{fault.identity}: {fault.status}: {fault.message}",
        passing=passing,
        retry_after=read_retry_after(fault.headers, now) if passing else None,
        halts=empty or fault.status in _HALTING,
    )


def _fix_key(key_name: str) -> str:
    return f"check the key in ${key_name}" if key_name else "name the variable that holds the key in api_key_env"
