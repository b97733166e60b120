"""The openai provider: the official SDK against OpenAI or any endpoint that speaks its wire format."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from openai import APIConnectionError, APIError, APIStatusError, AsyncOpenAI, AsyncStream, OpenAIError, Timeout

from evolve.core.errors import WorldError
from evolve.core.messages import Capability, ModelReply, ModelRequest, OnText
from evolve.models import openai_responses as responses
from evolve.models import openai_wire as wire
from evolve.models.held_back import HeldBack
from evolve.models.labels import check_labels
from evolve.models.openai_endpoint import OpenAIEndpoint
from evolve.models.openai_faults import AnswerFailed, Fault, describe_unreadable, translate_fault
from evolve.models.openai_streams import ChatStream, Gathering, ResponsesStream
from evolve.models.refusals import was_sent

_NO_KEY = "none"
_LONGEST_CONNECT = 10.0
_MALFORMED = (LookupError, TypeError, AttributeError, ValueError, RecursionError)


@dataclass(frozen=True)
class _Form:
    """One way to ask: the SDK's resource, the body, the reader of answers, the reader of streams."""

    resource: Any
    write: Callable[[ModelRequest, OpenAIEndpoint], dict[str, Any]]
    read: Callable[[Mapping[str, Any], ModelRequest], ModelReply]
    gather: Callable[[], Gathering]
    stream: Mapping[str, Any]
    cuts_stops: bool = False


class OpenAIModel:
    """Chat completions or the Responses API; with chat also completions for plain requests, and label scores from the
    likeliest tokens of both.

    It never retries. A call, its stream included, may take the endpoint's `timeout_seconds`. `clock` gives Unix time,
    for waits that a provider names as a date.
    """

    def __init__(self, endpoint: OpenAIEndpoint, *, clock: Callable[[], float] = time.time) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._client = _open_client(endpoint)

    @property
    def identity(self) -> str:
        """The endpoint's: `openai:MODEL@URL`, and what else can change an answer."""
        return self._endpoint.identity

    @property
    def capabilities(self) -> frozenset[Capability]:
        """All of them with chat, as far as the endpoint keeps to the format; schemas and tools with responses."""
        return frozenset(Capability) if self._endpoint.api == "chat" else responses.CAPABILITIES

    async def reply(self, request: ModelRequest) -> ModelReply:
        """One answer, told to `on_text` as it is written.

        Raises WorldError, PromptTooLong for a prompt over the context, UserError for an empty label and, with
        responses, for plain requests and labels.
        """
        check_labels(request.labels, self.identity)
        form = self._choose_form(request)
        body = form.write(request, self._endpoint)
        started = time.monotonic()
        outcome = await self._try(form, body, request)
        if isinstance(outcome, WorldError):
            raise outcome
        return dataclasses.replace(outcome, seconds=time.monotonic() - started)

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.close()

    def _choose_form(self, request: ModelRequest) -> _Form:
        client = self._client
        if self._endpoint.api == "responses":
            return _Form(
                client.responses, responses.write_body, responses.read_answer, ResponsesStream, {}, cuts_stops=True
            )
        resource = client.chat.completions if request.style == "chat" else client.completions
        with_usage = {"stream_options": {"include_usage": True}}
        return _Form(resource, wire.write_body, wire.read_answer, ChatStream, with_usage)

    async def _try(self, form: _Form, body: dict[str, Any], request: ModelRequest) -> ModelReply | WorldError:
        """The reply or its fault, which is raised elsewhere: the SDK's own errors carry the request and its key."""
        try:
            async with asyncio.timeout(self._endpoint.timeout_seconds):
                answer = await self._ask(form, body, request)
            return form.read(answer, request)
        except OpenAIError as fault:
            return translate_fault(_describe(fault), self._endpoint, self._clock())
        except AnswerFailed as fault:
            described = Fault(fault.message, codes=frozenset({fault.code}))
            return translate_fault(described, self._endpoint, self._clock())
        except TimeoutError:
            words = f"no whole answer within {self._endpoint.timeout_seconds:g} s"
            return WorldError(f"{self.identity}: {words}", maybe_billed=True)
        except WorldError as fault:
            return fault
        except _MALFORMED as fault:
            return describe_unreadable(self._endpoint, fault)

    async def _ask(self, form: _Form, body: dict[str, Any], request: ModelRequest) -> Mapping[str, Any]:
        """The decoded answer, as it came or put together from a stream."""
        tell = request.on_text
        if tell is None or request.labels:
            raw = await form.resource.with_raw_response.create(**body)
            return _decode(raw.content)
        stream: AsyncStream[Any] = await form.resource.create(**body, stream=True, **form.stream)
        async with stream:
            if "text/event-stream" not in stream.response.headers.get("content-type", ""):
                return _decode(await stream.response.aread())
            held = HeldBack(request.stop if form.cuts_stops else ())
            answer = await _follow(stream, form.gather(), held, tell)
        if answer is None:
            raise AnswerFailed("", "the stream ended before the answer was whole")
        return answer


def _open_client(endpoint: OpenAIEndpoint) -> AsyncOpenAI:
    limit = endpoint.timeout_seconds
    client = AsyncOpenAI(
        api_key=endpoint.key or _NO_KEY,
        base_url=endpoint.base_url,
        # A connection that does not come must be told from an answer that does not: it cost nothing.
        timeout=Timeout(limit, connect=min(limit / 2, _LONGEST_CONNECT)),
        max_retries=0,
    )
    # The SDK takes these from the environment and would send them to any endpoint.
    client.organization = client.project = None
    client._custom_headers = {}
    return client


async def _follow(
    stream: AsyncStream[Any], gathering: Gathering, held: HeldBack, tell: OnText
) -> Mapping[str, Any] | None:
    async for event in stream:
        piece = held.pass_on(gathering.take(event.to_dict(warnings=False)))
        if piece:
            tell(piece)
    if held.rest():
        tell(held.rest())
    return gathering.answer()


def _decode(content: bytes) -> Mapping[str, Any]:
    """The JSON object in a body. ValueError for anything else."""
    answer = json.loads(content)
    if not isinstance(answer, dict):
        raise ValueError(f"a JSON {type(answer).__name__}")
    return answer


def _describe(fault: OpenAIError) -> Fault:
    """A fault of the SDK without its request."""
    if not isinstance(fault, APIError):
        return Fault(str(fault), sent=False)
    codes = frozenset(code for code in (fault.code, fault.type) if code)
    if isinstance(fault, APIConnectionError):
        cause = fault.__cause__
        return Fault(f"{fault.message} ({type(cause).__name__}: {cause})", sent=was_sent(fault))
    if not isinstance(fault, APIStatusError):
        return Fault(fault.message, codes=codes)
    return Fault(fault.message, fault.status_code, codes, fault.response.headers, parameter=fault.param or "")
