"""The two documents of a mailbox: what is asked, and what an answer looks like."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from evolve.core.hashing import JSONValue
from evolve.core.messages import FinishReason, Message, ModelRequest, Role, ToolSpec, Usage


class Document(BaseModel):
    """Base of all documents: unknown keys are errors, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AskedCall(Document):
    """A tool call of an earlier turn. `arguments` is JSON text, as the model wrote it."""

    id: str
    name: str
    arguments: str


class Turn(Document):
    """One message. A `tool` turn answers the call `tool_call_id` of the assistant's turn before it."""

    role: Role
    content: str
    tool_calls: tuple[AskedCall, ...] = ()
    tool_call_id: str = ""


class OfferedTool(Document):
    """A tool that may be called. `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


class RequestDocument(Document):
    """One request: everything that shapes the answer."""

    schema_: Literal[1] = Field(default=1, alias="schema")
    id: str
    mailbox: str
    asked_at: AwareDatetime
    step: str = Field(description="which step of a run asks")
    messages: tuple[Turn, ...] = Field(description="the conversation; the answer is the next turn of the assistant")
    json_schema: dict[str, Any] | None = Field(description="when given, the answer's text is JSON that fits it")
    tools: tuple[OfferedTool, ...]
    tool_choice: str = Field(description="auto, none, required, or the name of the tool that must be called")
    max_tokens: int = Field(description="the longest answer that is wanted")
    stop: tuple[str, ...] = Field(description="the answer ends before the first of these texts")
    temperature: float
    seed: int

    @property
    def document(self) -> dict[str, JSONValue]:
        """As JSON."""
        return self.model_dump(mode="json", by_alias=True)


class ReplyUsage(Document):
    """Tokens. The cached and written ones are parts of the prompt's."""

    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    cache_write_tokens: int = Field(default=0, ge=0)
    cache_write_1h_tokens: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _parts_fit(self) -> ReplyUsage:
        if self.cached_tokens + self.cache_write_tokens > self.prompt_tokens:
            raise ValueError("cached and written tokens are parts of prompt_tokens, and exceed them")
        if self.cache_write_1h_tokens > self.cache_write_tokens:
            raise ValueError("cache_write_1h_tokens is a part of cache_write_tokens, and exceeds it")
        return self

    @property
    def usage(self) -> Usage:
        """As the engine counts."""
        return Usage(**self.model_dump())


class MadeCall(Document):
    """A tool call that the answer makes."""

    name: str
    arguments: dict[str, Any] = {}


class ReplyDocument(Document):
    """One answer: text, or tool calls, or both."""

    text: str | None = None
    tool_calls: tuple[MadeCall, ...] = ()
    finish_reason: FinishReason | None = Field(default=None, description="length when the answer was cut")
    usage: ReplyUsage | None = Field(default=None, description="tokens, when they are known")
    model: str = Field(default="", max_length=200, description="who answered: a model, a person, a job")
    note: str = Field(default="", max_length=2_000, description="for whoever reads the journal; changes nothing")

    @model_validator(mode="after")
    def _says_something(self) -> ReplyDocument:
        if self.text is None and not self.tool_calls:
            raise ValueError("an answer has `text` or `tool_calls`")
        return self


def request_document(id: str, mailbox: str, request: ModelRequest, asked_at: datetime) -> RequestDocument:
    """What is written for `request`."""
    return RequestDocument(
        id=id,
        mailbox=mailbox,
        asked_at=asked_at,
        step=request.step,
        messages=tuple(_turn(message) for message in request.messages),
        json_schema=dict(request.json_schema) if request.json_schema is not None else None,
        tools=tuple(_offered(tool) for tool in request.tools),
        tool_choice=request.tool_choice,
        max_tokens=request.max_tokens,
        stop=request.stop,
        temperature=request.temperature,
        seed=request.seed,
    )


def _turn(message: Message) -> Turn:
    calls = tuple(AskedCall(id=c.id, name=c.name, arguments=_writable(c.arguments)) for c in message.tool_calls)
    return Turn(
        role=message.role, content=_writable(message.content), tool_calls=calls, tool_call_id=message.tool_call_id
    )


def _writable(text: str) -> str:
    """The text, with what no UTF-8 file can hold (a lone surrogate) spelled out."""
    return text.encode("utf-8", "backslashreplace").decode()


def _offered(tool: ToolSpec) -> OfferedTool:
    return OfferedTool(name=tool.name, description=tool.description, parameters=dict(tool.parameters))
