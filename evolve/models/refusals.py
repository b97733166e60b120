"""What a refusal of a provider means here: passing or not, halting or not, billed or not, and what to do about it."""

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
_TIMED_OUT = frozenset({408, 504})
_TOO_LONG = frozenset({"context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded"})
_TOO_LONG_WORDS = ("prompt is too long", "maximum context length", "exceed context limit")
_NO_CREDIT = frozenset({"insufficient_quota", "billing_error"})
_NO_CREDIT_WORDS = ("credit balance is too low",)
_UNSENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol"})
"""Faults of the transport before anything went out, by name: the SDKs do not share one transport library."""
_SAMPLING_WORDS = ("temperature", "seed", "top_p")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal without its request. `status` is None when no answer came; `codes` are the provider's words for it.

    `sent`: whether the provider may have begun to work on the request when no answer came.
    """

    identity: str
    key_name: str
    message: str
    status: int | None = None
    codes: frozenset[str] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)
    sent: bool = True


def translate(refusal: Refusal, now: float) -> WorldError:
    """PromptTooLong or another WorldError; `now` is Unix time.

    Time-outs, lost connections, 408, 409, 425, 429 and 5xx are passing; an empty account (also said as a 429 or a 400)
    and all other refusals are not. A refused key, an empty account and a missing model halt. Only what timed out or
    broke off may have been billed.
    """
    if refusal.status is None:
        return WorldError(f"{refusal.identity}: {refusal.message}", passing=True, maybe_billed=refusal.sent)
    if _is_too_long(refusal):
        return PromptTooLong(refusal.identity, refusal.message)
    if refusal.status == _UNAUTHORIZED:
        # The provider's message quotes parts of the key: it is not repeated.
        words = f"{refusal.identity}: 401: the key was refused; {_fix_key(refusal.key_name)}"
        return WorldError(words, passing=False, halts=True)
    empty = _is_out_of_credit(refusal)
    passing = (refusal.status in _PASSING or refusal.status >= _SERVER_FAULT) and not empty
    return WorldError(
        f"{refusal.identity}: {refusal.status}: {refusal.message}{_hint(refusal)}",
        passing=passing,
        retry_after=read_retry_after(refusal.headers, now) if passing else None,
        halts=empty or refusal.status in _HALTING,
        maybe_billed=refusal.status in _TIMED_OUT,
    )


def was_sent(fault: BaseException) -> bool:
    """Whether a fault of the connection can have come after the request went out."""
    cause: BaseException | None = fault
    while cause is not None:
        if type(cause).__name__ in _UNSENT:
            return False
        cause = cause.__cause__
    return True


def broken_answer(identity: str, what: str) -> WorldError:
    """An answer that came and could not be used: it was billed, and asking again would bill again."""
    return WorldError(f"{identity}: {what}", passing=False, maybe_billed=True)


def broken_stream(identity: str, what: str) -> WorldError:
    """A stream that ended before its answer did."""
    return WorldError(f"{identity}: {what}", passing=True, maybe_billed=True)


def _is_too_long(refusal: Refusal) -> bool:
    words = refusal.message.casefold()
    by_words = refusal.status in (400, 413) and any(phrase in words for phrase in _TOO_LONG_WORDS)
    return bool(refusal.codes & _TOO_LONG) or by_words


def _is_out_of_credit(refusal: Refusal) -> bool:
    words = refusal.message.casefold()
    return bool(refusal.codes & _NO_CREDIT) or any(phrase in words for phrase in _NO_CREDIT_WORDS)


def _hint(refusal: Refusal) -> str:
    """What helps against a refused sampling parameter."""
    words = refusal.message.casefold()
    if refusal.status == 400 and any(word in words for word in _SAMPLING_WORDS):
        return "\n  fix: if this model refuses temperature or seed, set send_sampling: false"
    return ""


def _fix_key(key_name: str) -> str:
    return f"check the key in ${key_name}" if key_name else "name the variable that holds the key in api_key_env"
