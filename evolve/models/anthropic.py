"""The anthropic provider: the official SDK against Anthropic's messages, in one piece or streamed."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, cast

from anthropic import AnthropicError, APIError, APIStatusError, AsyncAnthropic
from pydantic import BaseModel

from evolve.core.messages import Capability, ModelReply, ModelRequest, OnText
from evolve.models import anthropic_wire as wire
from evolve.models.endpoint import Endpoint
from evolve.models.needs import refuse_unable
from evolve.models.refusals import Refusal, broken_answer, broken_stream, translate, was_sent

LONG_ANSWER = 16_000
"""Above so many tokens an answer is streamed whoever listens: the SDK refuses to wait for it in one piece."""


class AnthropicModel:
    """Messages with tools, JSON schemas and prompt caching. It never retries; `clock` gives Unix time.

    `cache` marks the system prompt and the tools as cacheable: written once at a higher price, read at a lower one.
    """

    def __init__(self, endpoint: Endpoint, *, cache: bool = False, clock: Callable[[], float] = time.time) -> None:
        self._endpoint = endpoint
        self._cache = cache
        self._clock = clock
        self._client = AsyncAnthropic(
            api_key=endpoint.key, base_url=endpoint.base_url, timeout=endpoint.timeout_seconds, max_retries=0
        )

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
        body = wire.write_body(request, self._endpoint, cache=self._cache)
        create = cast(Any, self._client.messages.create)
        begun = False
        try:
            if request.on_text is None and request.max_tokens <= LONG_ANSWER:
                answer = await create(**body)
            else:
                stream = await create(**body, stream=True)
                begun = True
                answer = await _collect(stream, request.on_text)
        except _BrokenStream as fault:
            raise broken_stream(self.identity, self._endpoint.hide(str(fault))) from None
        except AnthropicError as fault:
            if begun:
                raise broken_stream(self.identity, self._endpoint.hide(f"the stream broke: {fault}")) from None
            raise translate(self._describe(fault), self._clock()) from None
        except Exception as fault:
            if not begun:
                raise
            raise broken_stream(self.identity, f"the stream broke: {type(fault).__name__}") from None
        if isinstance(answer, BaseModel):
            return answer.model_dump()
        if isinstance(answer, Mapping):
            return answer
        raise broken_answer(self.identity, "the endpoint did not answer with JSON")

    def _describe(self, fault: AnthropicError) -> Refusal:
        endpoint = self._endpoint
        message = fault.message if isinstance(fault, APIError) else str(fault)
        described = Refusal(self.identity, endpoint.key_name, message=endpoint.hide(message), sent=was_sent(fault))
        if isinstance(fault, APIStatusError):
            return dataclasses.replace(
                described, status=fault.status_code, codes=_codes(fault), headers=fault.response.headers
            )
        return described


class _BrokenStream(Exception):
    """A stream that ended before its message did."""


async def _collect(stream: AsyncIterator[Any], tell: OnText | None) -> dict[str, Any]:
    """The whole message out of its events, usage included."""
    message: dict[str, Any] = {}
    texts: dict[int, str] = {}
    async for event in stream:
        if event.type == "message_start":
            message = event.message.model_dump()
        elif event.type == "content_block_start":
            message["content"].append(event.content_block.model_dump())
            texts[event.index] = ""
        elif event.type == "content_block_delta":
            _add_delta(message, texts, event, tell)
        elif event.type == "content_block_stop":
            _close_block(message["content"][event.index], texts.get(event.index, ""))
        elif event.type == "message_delta":
            message["stop_reason"] = event.delta.stop_reason
            told = {name: value for name, value in event.usage.model_dump().items() if value is not None}
            message["usage"] |= told
        elif event.type == "message_stop":
            return message
    raise _BrokenStream("the stream ended before the answer did")


def _add_delta(message: dict[str, Any], texts: dict[int, str], event: Any, tell: OnText | None) -> None:
    block = message["content"][event.index]
    if event.delta.type == "text_delta":
        block["text"] += event.delta.text
        if tell is not None and event.delta.text:
            tell(event.delta.text)
    elif event.delta.type == "input_json_delta":
        texts[event.index] += event.delta.partial_json


def _close_block(block: dict[str, Any], text: str) -> None:
    """A tool's input arrives as pieces of JSON text."""
    if block["type"] == "tool_use" and text:
        try:
            block["input"] = json.loads(text)
        except ValueError as fault:
            raise _BrokenStream(f"a tool call's input is not JSON: {fault}") from fault


def _codes(fault: APIStatusError) -> frozenset[str]:
    """The provider's word for the error: `error.type` of its body."""
    error = fault.body.get("error") if isinstance(fault.body, Mapping) else None
    kind = error.get("type") if isinstance(error, Mapping) else None
    return frozenset({kind}) if isinstance(kind, str) else frozenset()
