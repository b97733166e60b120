"""Whether the bytes of a reply are an answer to a request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from evolve.core.messages import ModelReply, ToolCall, Usage
from evolve.models.mailbox.documents import ReplyDocument, RequestDocument

MOST_BYTES = 4 * 2**20
_FREE_CHOICE = ("auto", "none", "required")
_SHOWN = 400


class Unfit(ValueError):
    """The reply is no answer to this request; the text says why."""


class Unfinished(Unfit):
    """The bytes are no JSON, as when a file is still being written."""


def check_asked_schema(schema: Mapping[str, JSONValue], place: str) -> None:
    """UserError for a `json_schema` that no reply could be checked against."""
    try:
        Draft202012Validator.check_schema(dict(schema))
    except SchemaError as error:
        raise UserError(f"not a JSON schema: {error.message[:_SHOWN]}", place=place) from error


def read_reply(data: bytes, asked: RequestDocument) -> ModelReply:
    """The answer. Raises Unfinished for bytes that are no JSON, and Unfit for whatever else is wrong."""
    if len(data) > MOST_BYTES:
        raise Unfit(f"{len(data):,} bytes; a reply has at most {MOST_BYTES:,}")
    document = _validate(_load(data, "the reply"))
    _check_calls(document, asked)
    if asked.json_schema is not None and not document.tool_calls:
        _check_text(document.text or "", asked.json_schema)
    calls = tuple(
        ToolCall(f"{asked.id}-{number}", call.name, json.dumps(call.arguments, ensure_ascii=False))
        for number, call in enumerate(document.tool_calls)
    )
    return ModelReply(
        text=document.text or "",
        usage=document.usage.usage if document.usage is not None else Usage(),
        finish_reason=document.finish_reason or ("tool_calls" if calls else "stop"),
        tool_calls=calls,
        raw_usage=document.model_dump(mode="json", include={"usage", "model", "note"}, exclude_defaults=True),
    )


def _load(data: bytes, what: str) -> JSONValue:
    try:
        # A byte-order mark is what some editors put in front.
        value = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except RecursionError:
        raise Unfit(f"{what} is nested too deeply") from None
    except Unfit:
        raise
    except ValueError as error:
        raise Unfinished(f"{what} is not whole JSON in UTF-8: {error}") from None
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Unfit(f"{what} holds a lone surrogate, which is no text") from None
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise Unfit(f"{name} is not JSON")


def _validate(value: JSONValue) -> ReplyDocument:
    if not isinstance(value, dict):
        raise Unfit("a reply is a JSON object, as reply.schema.json says")
    try:
        return ReplyDocument.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Unfit(f"{where}: {first['msg']}" if where else first["msg"]) from None


def _check_calls(document: ReplyDocument, asked: RequestDocument) -> None:
    offered = [tool.name for tool in asked.tools]
    called = [call.name for call in document.tool_calls]
    unknown = next((name for name in called if name not in offered), None)
    if unknown is not None:
        raise Unfit(f"tool_calls: no tool {unknown!r} is offered; offered: {', '.join(offered) or 'none'}")
    choice = asked.tool_choice
    if called and choice == "none":
        raise Unfit("tool_calls: tool_choice is none, so no tool may be called")
    if offered and not called and choice == "required":
        raise Unfit("tool_calls: tool_choice is required, so a tool must be called")
    if offered and choice not in _FREE_CHOICE and choice not in called:
        raise Unfit(f"tool_calls: the tool {choice!r} must be called")


def _check_text(text: str, schema: Mapping[str, Any]) -> None:
    try:
        value = _load(text.encode("utf-8", "surrogatepass"), "text")
    except Unfit as error:
        raise Unfit(f"the request has a json_schema, and {error}") from None
    # An empty registry: the library would otherwise fetch remote references over the network.
    validator = Draft202012Validator(dict(schema), registry=Registry())
    try:
        misfit = next(iter(validator.iter_errors(value)), None)
    except Unresolvable as missing:
        raise Unfit(f"the request's json_schema refers to {missing.ref!r}, which it does not hold") from None
    except RecursionError:
        raise Unfit("the request's json_schema refers to itself without end") from None
    if misfit is not None:
        raise Unfit(f"text does not fit the request's json_schema: {misfit.json_path}: {misfit.message[:_SHOWN]}")
