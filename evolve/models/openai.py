"""The openai provider: the official SDK against OpenAI or any endpoint that speaks its wire format."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from openai import APIError, APIStatusError, AsyncOpenAI, OpenAIError
from pydantic import BaseModel

from evolve.core.errors import WorldError
from evolve.core.messages import Capability, ModelReply, ModelRequest
from evolve.models import openai_wire as wire
from evolve.models.labels import check_labels
from evolve.models.openai_faults import Fault, translate_fault

_NO_KEY = "none"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is served. `key` is empty where none is needed; `key_name` is the variable that held it."""

    model: str
    base_url: str = wire.OFFICIAL_URL
    key: str = dataclasses.field(default="", repr=False)
    key_name: str = ""
    timeout_seconds: float = 120.0


class OpenAIModel:
    """Chat completions, completions for plain requests, and label scores from the likeliest tokens of both.

    It never retries. `clock` gives Unix time, for waits that a provider names as a date.
    """

    def __init__(self, endpoint: Endpoint, *, clock: Callable[[], float] = time.time) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._client = AsyncOpenAI(
            api_key=endpoint.key or _NO_KEY,
            base_url=endpoint.base_url,
            timeout=endpoint.timeout_seconds,
            max_retries=0,
        )

    @property
    def identity(self) -> str:
        """`openai:MODEL@URL`."""
        return f"openai:{self._endpoint.model}@{self._endpoint.base_url}"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """All of them, as far as the endpoint keeps to the format."""
        return frozenset(Capability)

    async def reply(self, request: ModelRequest) -> ModelReply:
        """One answer. Raises WorldError, PromptTooLong for a prompt over the context, UserError for an empty label."""
        check_labels(request.labels, self.identity)
        started = time.monotonic()
        answer = await self._ask(request)
        try:
            reply = wire.read_answer(answer, request)
        except (LookupError, TypeError, AttributeError, ValueError) as fault:
            raise WorldError(
                f"{self.identity}: not an answer in the OpenAI format: {fault!r}", passing=False
            ) from fault
        return dataclasses.replace(reply, seconds=time.monotonic() - started)

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.close()

    async def _ask(self, request: ModelRequest) -> dict[str, Any]:
        """The decoded answer. The SDK's own errors carry the request, and with it the key: they end here."""
        endpoint = self._endpoint
        chat = request.style == "chat"
        create = self._client.chat.completions.create if chat else self._client.completions.create
        try:
            answer = await cast(Any, create)(**wire.write_body(request, endpoint.model, endpoint.base_url))
        except OpenAIError as fault:
            raise translate_fault(self._describe(fault), self._clock()) from None
        if not isinstance(answer, BaseModel):
            raise WorldError(f"{self.identity}: the endpoint did not answer with JSON", passing=False)
        return answer.model_dump()

    def _describe(self, fault: OpenAIError) -> Fault:
        endpoint = self._endpoint
        message = fault.message if isinstance(fault, APIError) else str(fault)
        hidden = message.replace(endpoint.key, "…") if endpoint.key else message
        described = Fault(self.identity, endpoint.key_name, message=hidden)
        if isinstance(fault, APIStatusError):
            codes = frozenset(code for code in (fault.code, fault.type) if code)
            return dataclasses.replace(described, status=fault.status_code, codes=codes, headers=fault.response.headers)
        return described
