"""The anthropic provider: the official SDK against Anthropic's messages, in one piece or streamed."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

from anthropic import (
    AnthropicError,
    APIError,
    APIStatusError,
    AsyncAnthropic,
    DefaultAsyncHttpxClient,
    transform_schema,
)
from pydantic import BaseModel

from evolve.core.messages import Capability, ModelReply, ModelRequest
from evolve.models import anthropic_wire as wire
from evolve.models.anthropic_stream import BrokenStream, collect
from evolve.models.endpoint import Endpoint
from evolve.models.held_back import HeldBack
from evolve.models.needs import refuse_unable
from evolve.models.refusals import Refusal, broken_answer, broken_stream, translate, was_sent

_NO_KEY = "none"
LONG_ANSWER = 8_192
"""Above so many tokens an answer is streamed whoever listens: the SDK refuses to wait for it in one piece."""


class AnthropicModel:
    """Messages with tools, JSON schemas and prompt caching. It never retries; `clock` gives Unix time.

    `cache` marks the system prompt and the tools as cacheable: written once at a higher price, read at a lower one.
    """

    def __init__(self, endpoint: Endpoint, *, cache: bool = False, clock: Callable[[], float] = time.time) -> None:
        self._endpoint = endpoint
        self._cache = cache
        self._clock = clock
        self._client = _connect(endpoint)

    @property
    def identity(self) -> str:
        """`anthropic:MODEL`, with `@URL` where that is not Anthropic's own."""
        here = self._endpoint.base_url
        return f"anthropic:{self._endpoint.model}" + ("" if here == wire.OFFICIAL_URL else f"@{here}")

    @property
    def capabilities(self) -> frozenset[Capability]:
        """No raw completion and no label scores: the API has neither."""
        return frozenset({Capability.JSON_SCHEMA, Capability.TOOLS})

    async def reply(self, request: ModelRequest) -> ModelReply:
        """One answer. Raises WorldError, PromptTooLong, and UserError for plain and label requests."""
        refuse_unable(self, request)
        started = time.monotonic()
        answer = await self._ask(request)
        try:
            reply = wire.read_answer(answer, request)
        except (LookupError, TypeError, AttributeError, ValueError) as fault:
            raise broken_answer(self.identity, f"not an answer in the Anthropic format: {fault!r}") from fault
        return dataclasses.replace(reply, seconds=time.monotonic() - started)

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.close()

    async def _ask(self, request: ModelRequest) -> Mapping[str, Any]:
        """The decoded message. The SDK's own errors carry the request, and with it the key: they end here."""
        body = wire.write_body(_fit_schema(request), self._endpoint, cache=self._cache)
        limit = self._endpoint.timeout_seconds
        try:
            async with asyncio.timeout(limit):
                if request.on_text is None and request.max_tokens <= LONG_ANSWER:
                    return await self._fetch(body)
                return await self._follow(body, request)
        except TimeoutError:
            raise broken_stream(self.identity, f"no whole answer within {limit:g} s") from None
        except BrokenStream as fault:
            raise broken_stream(self.identity, self._endpoint.hide(str(fault))) from None
        except AnthropicError as fault:
            raise translate(self._describe(fault), self._clock()) from None

    async def _fetch(self, body: dict[str, Any]) -> Mapping[str, Any]:
        try:
            answer = await cast(Any, self._client.messages.create)(**body)
        except ValueError as fault:  # the SDK lets a body that is no JSON through
            raise broken_answer(self.identity, f"the endpoint did not answer with JSON: {fault}") from None
        if not isinstance(answer, BaseModel):
            raise broken_answer(self.identity, "the endpoint did not answer with JSON")
        return answer.model_dump()

    async def _follow(self, body: dict[str, Any], request: ModelRequest) -> Mapping[str, Any]:
        """The message put together from its events; the follower never hears past a stop text that is applied here."""
        stream = await cast(Any, self._client.messages.create)(**body, stream=True)
        async with stream:
            if "text/event-stream" not in stream.response.headers.get("content-type", ""):
                raise broken_answer(self.identity, "the endpoint did not answer with a stream")
            return await collect(stream, HeldBack(wire.white_stops(request.stop)), request.on_text)

    def _describe(self, fault: AnthropicError) -> Refusal:
        endpoint = self._endpoint
        message = fault.message if isinstance(fault, APIError) else str(fault)
        described = Refusal(self.identity, endpoint.key_name, message=endpoint.hide(message), sent=was_sent(fault))
        if isinstance(fault, APIStatusError):
            return dataclasses.replace(
                described, status=fault.status_code, codes=_codes(fault), headers=fault.response.headers
            )
        return described


def _connect(endpoint: Endpoint) -> AsyncAnthropic:
    """The SDK's client. It follows no redirect, which would carry the key elsewhere, and reports to nobody."""
    # The SDK sends the key as a bearer; most imitators know the API's older header alone.
    headers = {"x-api-key": endpoint.key} if endpoint.key and endpoint.base_url != wire.OFFICIAL_URL else {}
    return AsyncAnthropic(
        api_key=endpoint.key or _NO_KEY,
        base_url=endpoint.base_url,
        timeout=endpoint.timeout_seconds,
        max_retries=0,
        default_headers=headers,
        http_client=DefaultAsyncHttpxClient(follow_redirects=False),
        open_telemetry=False,
    )


def _fit_schema(request: ModelRequest) -> ModelRequest:
    """The schema as the API takes it, closed and without bounds; one that the SDK cannot fit is left for the API."""
    if request.json_schema is None:
        return request
    try:
        return dataclasses.replace(request, json_schema=transform_schema(dict(request.json_schema)))
    except (LookupError, TypeError, ValueError, AttributeError, AssertionError):
        return request


def _codes(fault: APIStatusError) -> frozenset[str]:
    """The provider's word for the error: `error.type` of its body."""
    error = fault.body.get("error") if isinstance(fault.body, Mapping) else None
    kind = error.get("type") if isinstance(error, Mapping) else None
    return frozenset({kind}) if isinstance(kind, str) else frozenset()
