"""What a refusal of an OpenAI-compatible endpoint means here: passing or not, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from evolve.core.errors import WorldError
from evolve.models.errors import PromptTooLong
from evolve.models.openai_endpoint import OpenAIEndpoint
from evolve.models.waits import read_retry_after

_SERVER_FAULT = 500
_PASSING = frozenset({408, 409, 425, 429})
_BAD_REQUEST, _UNAUTHORIZED, _EMPTY_ACCOUNT, _FORBIDDEN, _NOT_FOUND = 400, 401, 402, 403, 404
_HALTING = frozenset({_UNAUTHORIZED, _EMPTY_ACCOUNT, _FORBIDDEN, _NOT_FOUND})
"""A refused key, an empty account and a missing model: every other call would be refused alike."""
_TIMED_OUT = frozenset({408, 504})
_TOO_LONG = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_NO_CREDIT = frozenset({"insufficient_quota"})
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
_SHORT_REPLY = re.compile(r"\bmax_output_tokens\b")


class AnswerFailed(Exception):
    """An accepted request whose answer, or a part of its stream, says that it failed. `code` may be empty."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Fault:
    """A refusal without its request. `status` is None when no answer came; `codes` are the provider's words for it.

    `sent`: the provider may have worked on the request. `parameter` is what the provider complains of, if it says so.
    """

    message: str
    status: int | None = None
    codes: frozenset[str] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)
    sent: bool = True
    parameter: str = ""


def translate_fault(fault: Fault, endpoint: OpenAIEndpoint, now: float) -> WorldError:
    """PromptTooLong or another WorldError; `now` is Unix time.

    Time-outs, lost connections, 408, 409, 425, 429 and 5xx are passing; an empty account (also said as a 429) and all
    other refusals are not. A refused key, an empty account and a missing model halt. What broke off after the request
    had been sent, or timed out at the provider, may have been billed; a refusal is not.
    """
    who, message = endpoint.identity, endpoint.hide(fault.message)
    if fault.codes & _TOO_LONG:
        return PromptTooLong(who, message)
    empty = bool(fault.codes & _NO_CREDIT)
    if fault.status is None:
        passing = not empty and not fault.codes & _FOR_GOOD
        return WorldError(f"{who}: {message}", passing=passing, halts=empty, maybe_billed=fault.sent)
    if fault.status == _UNAUTHORIZED:
        # The provider's message quotes parts of the key: it is not repeated.
        message = "the key was refused"
    passing = (fault.status in _PASSING or fault.status >= _SERVER_FAULT) and not empty
    fix = _find_fix(fault, endpoint)
    return WorldError(
        f"{who}: {fault.status}: {message}" + (f"\n  fix: {fix}" if fix else ""),
        passing=passing,
        retry_after=read_retry_after(fault.headers, now) if passing else None,
        halts=empty or fault.status in _HALTING,
        maybe_billed=fault.status in _TIMED_OUT,
    )


def describe_unreadable(endpoint: OpenAIEndpoint, fault: Exception) -> WorldError:
    """The fault for an accepted request whose answer is not in the format: asking again would be paid again."""
    words = endpoint.hide(f"{type(fault).__name__}: {fault}")
    return WorldError(
        f"{endpoint.identity}: not an answer in the OpenAI format: {words}", passing=False, maybe_billed=True
    )


def _find_fix(fault: Fault, endpoint: OpenAIEndpoint) -> str:
    if fault.status in (_UNAUTHORIZED, _FORBIDDEN):
        key = endpoint.key_name
        return f"check the key in ${key}" if key else "name the variable that holds the key in api_key_env"
    if fault.status == _EMPTY_ACCOUNT or fault.codes & _NO_CREDIT:
        return "add credit to the provider's account, then resume"
    if fault.status == _NOT_FOUND:
        other = " and that the endpoint knows api: responses" if endpoint.api == "responses" else ""
        return f"check the name of the model and base_url{other}"
    return _find_setting(fault, endpoint) if fault.status == _BAD_REQUEST else ""


def _find_setting(fault: Fault, endpoint: OpenAIEndpoint) -> str:
    """The setting behind a parameter that a model refuses."""
    blamed = fault.parameter or fault.message
    if endpoint.sampling and _SAMPLING.search(blamed):
        return "set send_sampling: false for this model: it refuses what steers sampling"
    if _SHORT_REPLY.search(blamed):
        return "raise max_tokens: the Responses API takes 16 or more"
    return ""
