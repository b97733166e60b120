"""What a refusal of an OpenAI-compatible endpoint means here: passing or not, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from evolve.core.errors import WorldError
from evolve.models.openai_endpoint import OpenAIEndpoint
from evolve.models.refusals import Refusal, translate

_SHORT_REPLY = re.compile(r"\bmax_output_tokens\b")
_BAD_REQUEST, _NOT_FOUND = 400, 404


class AnswerFailed(Exception):
    """An accepted request whose answer, or a part of its stream, says that it failed. `code` may be empty."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Fault:
    """A refusal without its request, as the SDK tells it; the fields are those of a Refusal."""

    message: str
    status: int | None = None
    codes: frozenset[str] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)
    sent: bool = True
    parameter: str = ""


def translate_fault(fault: Fault, endpoint: OpenAIEndpoint, now: float) -> WorldError:
    """What the fault means, as for every provider, without the endpoint's key in its words."""
    refusal = Refusal(
        endpoint.identity,
        endpoint.key_name,
        endpoint.hide(fault.message),
        status=fault.status,
        codes=fault.codes,
        headers=fault.headers,
        sent=fault.sent,
        parameter=fault.parameter if endpoint.sampling else "-",
        fix=_find_fix(fault, endpoint),
    )
    return translate(refusal, now)


def describe_unreadable(endpoint: OpenAIEndpoint, fault: Exception) -> WorldError:
    """The fault for an accepted request whose answer is not in the format: asking again would be paid again."""
    words = endpoint.hide(f"{type(fault).__name__}: {fault}")
    return WorldError(
        f"{endpoint.identity}: not an answer in the OpenAI format: {words}", passing=False, maybe_billed=True
    )


def _find_fix(fault: Fault, endpoint: OpenAIEndpoint) -> str:
    """What only this provider's side knows."""
    if fault.status == _NOT_FOUND and endpoint.api == "responses":
        return "check the name of the model and base_url, and that the endpoint knows api: responses"
    if fault.status == _BAD_REQUEST and _SHORT_REPLY.search(fault.parameter or fault.message):
        return "raise max_tokens: the Responses API takes 16 or more"
    return ""
