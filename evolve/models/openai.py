"""The openai provider: the official SDK against OpenAI or any endpoint that speaks its wire format."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

from openai import APIError, APIStatusError, AsyncOpenAI, OpenAIError
from pydantic import BaseModel

from evolve.core.errors import WorldError
from evolve.core.messages import Capability, ModelReply, ModelRequest
from evolve.models import openai_responses as responses
from evolve.models import openai_streams as streams
from evolve.models import openai_wire as wire
from evolve.models.endpoint import Endpoint
from evolve.models.labels import check_labels
from evolve.models.needs import refuse_unable
from evolve.models.refusals import Refusal, broken_answer, broken_stream, translate, was_sent

_NO_KEY = "none"


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
            reply = self._read(answer, request)
        except (LookupError, TypeError, AttributeError, ValueError) as fault:
            raise broken_answer(self.identity, f"not an answer in the OpenAI format: {fault!r}") from fault
        return dataclasses.replace(reply, seconds=time.monotonic() - started)

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.close()

    async def _ask(self, request: ModelRequest) -> Mapping[str, Any]:
        """The decoded answer. The SDK's own errors carry the request, and with it the key: they end here."""
        try:
            answer = await self._send(request)
        except streams.BrokenStream as fault:
            raise broken_stream(self.identity, self._endpoint.hide(str(fault))) from None
        except OpenAIError as fault:
            raise translate(self._describe(fault), self._clock()) from None
        if isinstance(answer, BaseModel):
            return answer.model_dump()
        if isinstance(answer, Mapping):
            return answer
        raise broken_answer(self.identity, "the endpoint did not answer with JSON")

    async def _send(self, request: ModelRequest) -> Any:
        endpoint = self._endpoint
        chat = request.style == "chat"
        create = self._client.chat.completions.create if chat else self._client.completions.create
        body = wire.write_body(request, endpoint)
        if request.on_text is None or request.labels or not chat:
            return await cast(Any, create)(**body)
        body |= {"stream": True, "stream_options": {"include_usage": True}}
        return await streams.collect_chat(await cast(Any, create)(**body), request.on_text)

    def _read(self, answer: Mapping[str, Any], request: ModelRequest) -> ModelReply:
        return wire.read_answer(answer, request)

    def _describe(self, fault: OpenAIError) -> Refusal:
        endpoint = self._endpoint
        message = fault.message if isinstance(fault, APIError) else str(fault)
        described = Refusal(self.identity, endpoint.key_name, message=endpoint.hide(message), sent=was_sent(fault))
        if isinstance(fault, APIStatusError):
            codes = frozenset(code for code in (fault.code, fault.type) if code)
            return dataclasses.replace(described, status=fault.status_code, codes=codes, headers=fault.response.headers)
        return described


class ResponsesModel(OpenAIModel):
    """The same provider through its responses API. Answers are not stored there.

    Its identity differs from the chat form's: the two do not write the same prompt, so their results never mix.
    """

    @property
    def identity(self) -> str:
        """`openai:MODEL@URL#responses`."""
        return f"{super().identity}#responses"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """No raw completion and no label scores in this form."""
        return frozenset({Capability.JSON_SCHEMA, Capability.TOOLS})

    async def _send(self, request: ModelRequest) -> Any:
        refuse_unable(self, request, "use api: chat")
        create = cast(Any, self._client.responses.create)
        body = responses.write_body(request, self._endpoint)
        if request.on_text is None or request.stop:
            return await create(**body)
        return await streams.collect_response(await create(**body, stream=True), request.on_text)

    def _read(self, answer: Mapping[str, Any], request: ModelRequest) -> ModelReply:
        reply = responses.read_answer(answer, request)
        if isinstance(reply, str):
            raise WorldError(f"{self.identity}: {reply}", passing=False, maybe_billed=True)
        return reply
