"""What a refusal of a provider means here: passing or not, halting or not, billed or not, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from evolve.core.errors import WorldError
from evolve.models.errors import PromptTooLong
from evolve.models.waits import read_retry_after

_SERVER_FAULT = 500
_PASSING = frozenset({408, 409, 425, 429})
_BAD_REQUEST, _UNAUTHORIZED, _EMPTY_ACCOUNT, _FORBIDDEN, _NOT_FOUND = 400, 401, 402, 403, 404
_HALTING = frozenset({_UNAUTHORIZED, _EMPTY_ACCOUNT, _FORBIDDEN, _NOT_FOUND})
"""A refused key, an empty account and a missing model: every other call would be refused alike."""
_TIMED_OUT = frozenset({408, 504})
_TOO_LONG = frozenset({"context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded"})
_TOO_LONG_WORDS = ("prompt is too long", "exceed context limit")
_NO_CREDIT = frozenset({"insufficient_quota", "billing_error"})
_NO_CREDIT_WORDS = ("credit balance is too low",)
_FOR_GOOD = frozenset(
    {
        "invalid_prompt",
        "invalid_request_error",
        "data_residency_mismatch",
        "bio_policy",
        "misalignment_policy_violation",
    }
)
"""Failures of an accepted request that the same request will always meet."""
_SAMPLING = re.compile(r"\b(temperature|seed|max_tokens)\b")
_UNSENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol"})
"""Faults of the transport before anything went out, by name: the SDKs do not share one transport library."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal without its request. `status` is None when no answer came; `codes` are the provider's words for it.

    `sent`: whether the provider may have begun to work on the request when no answer came. `parameter` is what it
    complains of, if it says so; `fix` is what the provider's own side knows to do about it.
    """

    identity: str
    key_name: str
    message: str
    status: int | None = None
    codes: frozenset[str] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)
    sent: bool = True
    parameter: str = ""
    fix: str = ""


def translate(refusal: Refusal, now: float) -> WorldError:
    """PromptTooLong or another WorldError; `now` is Unix time.

    Time-outs, lost connections, 408, 409, 425, 429 and 5xx are passing; an empty account (also said as a 429 or a 400)
    and all other refusals are not. A refused key, an empty account and a missing model halt. What broke off after the
    request had been sent, or timed out at the provider, may have been billed; a refusal is not.
    """
    who, message = refusal.identity, refusal.message
    if _is_too_long(refusal):
        return PromptTooLong(who, message)
    empty = _is_out_of_credit(refusal)
    if refusal.status is None:
        passing = not empty and not refusal.codes & _FOR_GOOD
        return WorldError(f"{who}: {message}", passing=passing, halts=empty, maybe_billed=refusal.sent)
    if refusal.status == _UNAUTHORIZED:
        # The provider's message quotes parts of the key: it is not repeated.
        message = "the key was refused"
    passing = (refusal.status in _PASSING or refusal.status >= _SERVER_FAULT) and not empty
    fix = refusal.fix or _find_fix(refusal, empty)
    return WorldError(
        f"{who}: {refusal.status}: {message}" + (f"\n  fix: {fix}" if fix else ""),
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
    by_words = refusal.status == _BAD_REQUEST and any(phrase in words for phrase in _TOO_LONG_WORDS)
    return bool(refusal.codes & _TOO_LONG) or by_words


def _is_out_of_credit(refusal: Refusal) -> bool:
    words = refusal.message.casefold()
    return bool(refusal.codes & _NO_CREDIT) or any(phrase in words for phrase in _NO_CREDIT_WORDS)


def _find_fix(refusal: Refusal, empty: bool) -> str:
    if refusal.status in (_UNAUTHORIZED, _FORBIDDEN):
        key = refusal.key_name
        return f"check the key in ${key}" if key else "name the variable that holds the key in api_key_env"
    if refusal.status == _EMPTY_ACCOUNT or empty:
        return "add credit to the provider's account, then resume"
    if refusal.status == _NOT_FOUND:
        return "check the name of the model and base_url"
    if refusal.status == _BAD_REQUEST and _SAMPLING.search(refusal.parameter or refusal.message):
        return "set send_sampling: false for this model: it refuses what steers sampling"
    return ""
