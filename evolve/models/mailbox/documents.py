"""What stands in a mailbox: a request that says everything its answerer needs, and the reply to it."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import jsonschema
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from evolve.core.messages import ModelReply, ModelRequest, ToolCall, Usage

_FORM = ConfigDict(extra="forbid", frozen=True)
_Count = Annotated[int, Field(ge=0)]


class CallDocument(BaseModel):
    """A tool call. `arguments` is an object; `id` may be left out in a reply."""

    model_config = _FORM

    name: str
    arguments: dict[str, Any]
    id: str = ""


class TurnDocument(BaseModel):
    """One turn of the conversation."""

    model_config = _FORM

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[CallDocument, ...] = ()
    tool_call_id: str = ""


class RequestDocument(BaseModel):
    """One question. Answer with replies/ID.json in the form of reply.schema.json."""

    model_config = _FORM

    schema_: Literal[1] = Field(alias="schema")
    id: str
    model: str
    asked_at: str
    messages: tuple[TurnDocument, ...]
    max_tokens: int
    temperature: float
    stop: tuple[str, ...] = ()
    json_schema: dict[str, Any] | None = None
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: str = "auto"


class UsageDocument(BaseModel):
    """What the answer took, where the answerer knows; without it the books charge the most it can have taken."""

    model_config = _FORM

    prompt_tokens: _Count
    completion_tokens: _Count
    cached_tokens: _Count = 0


class ReplyDocument(BaseModel):
    """An answer: text, tool calls, or both. `model` says who answered, `note` anything else."""

    model_config = _FORM

    text: str = ""
    tool_calls: tuple[CallDocument, ...] = ()
    finish_reason: Literal["stop", "length", "content_filter", "tool_calls", "other"] = "stop"
    usage: UsageDocument | None = None
    model: str = ""
    note: str = ""

    @model_validator(mode="after")
    def _says_something(self) -> ReplyDocument:
        if not self.text and not self.tool_calls:
            raise ValueError("the reply has neither text nor tool_calls")
        return self


def write_request(request: ModelRequest, id: str, model: str, asked_at: str) -> RequestDocument:
    """The document of a request."""
    return RequestDocument(
        schema=1,
        id=id,
        model=model,
        asked_at=asked_at,
        messages=tuple(
            TurnDocument(
                role=m.role,
                content=m.content,
                tool_calls=tuple(_call_document(call) for call in m.tool_calls),
                tool_call_id=m.tool_call_id,
            )
            for m in request.messages
        ),
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        stop=request.stop,
        json_schema=dict(request.json_schema) if request.json_schema is not None else None,
        tools=tuple(tool.document for tool in request.tools),
        tool_choice=request.tool_choice,
    )


def read_reply(data: bytes, request: RequestDocument) -> ReplyDocument:
    """The reply in a file. ValueError, in words for the answerer, when it is no reply or not to this request."""
    try:
        reply = ReplyDocument.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{where}: {first['msg']}" if where else str(first["msg"])) from None
    known = {tool["name"] for tool in request.tools}
    for call in reply.tool_calls:
        if call.name not in known:
            raise ValueError(f"there is no tool {call.name!r}; the request offers {', '.join(sorted(known)) or 'none'}")
    if request.json_schema is not None and not reply.tool_calls:
        _check_schema(reply.text, request.json_schema)
    return reply


def to_model_reply(reply: ReplyDocument, seconds: float) -> ModelReply:
    """As any other model's reply. Usage that is not stated is left open."""
    told = reply.usage
    usage = Usage(told.prompt_tokens, told.completion_tokens, told.cached_tokens) if told is not None else Usage()
    calls = tuple(
        ToolCall(call.id or f"call_{number}", call.name, json.dumps(call.arguments, ensure_ascii=False))
        for number, call in enumerate(reply.tool_calls, start=1)
    )
    finish = "tool_calls" if calls and reply.finish_reason == "stop" else reply.finish_reason
    return ModelReply(reply.text, usage, finish, seconds=seconds, tool_calls=calls)


def _check_schema(text: str, schema: dict[str, Any]) -> None:
    try:
        jsonschema.validate(json.loads(text), schema)
    except json.JSONDecodeError as error:
        raise ValueError(f"text must be JSON that fits the request's json_schema: {error}") from None
    except jsonschema.ValidationError as error:
        raise ValueError(f"text does not fit the request's json_schema: {error.message}") from None


def _call_document(call: ToolCall) -> CallDocument:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        arguments = None
    sound = arguments if isinstance(arguments, dict) else {"unreadable": call.arguments}
    return CallDocument(name=call.name, id=call.id, arguments=sound)
