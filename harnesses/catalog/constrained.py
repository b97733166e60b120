"""Constrained decoding: replies can only be JSON of the inferred shape."""

from __future__ import annotations

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from evolve.core.messages import Capability
from evolve.core.protocols import Files
from harnesses.catalog.occasion import Draft, Occasion, finish, generate_params, schema_bytes
from harnesses.manifest import harness_tools
from harnesses.proposal import Proposal
from harnesses.shapes import Field, Kind, Shape
from tool_forge.contract import call_schema
from workflows.spec import Node


def propose_constrained(occasion: Occasion) -> Proposal | None:
    """The parent's prompt with a JSON schema; needs object answers and a model that can be constrained."""
    shape = occasion.shape
    if Capability.JSON_SCHEMA not in occasion.capabilities or not shape.is_object:
        return None
    path = f"schemas/{shape.slug()}.json"
    params, files = generate_params(occasion)
    draft = Draft(
        entry="constrained",
        nodes={"answer": Node(operator="generate", params={**params, "schema": path})},
        start="answer",
        lever="decoding limited to a JSON schema inferred from the train answers",
        cause="break the form that is expected",
        files={**files, path: schema_bytes(infer_schema(shape, occasion.parent))},
    )
    return finish(occasion, draft)


def infer_schema(shape: Shape, parent: Files) -> dict[str, JSONValue]:
    """The JSON schema of an object shape: enums for label-like fields, types for all others."""
    if shape.is_call:
        return _infer_calls(shape, parent)
    return {
        "type": "object",
        "properties": {field.key: _field_schema(field) for field in shape.fields},
        "required": [field.key for field in shape.fields],
        "additionalProperties": False,
    }


def _infer_calls(shape: Shape, parent: Files) -> dict[str, JSONValue]:
    try:
        tools = harness_tools(parent)
    except UserError:
        tools = {}
    if tools:
        return {"oneOf": [call_schema(tool) for tool in tools.values()]}
    names = sorted({example.expected["tool"] for example in shape.examples})
    return {
        "type": "object",
        "properties": {"tool": {"enum": names}, "args": {"type": "object"}},
        "required": ["tool", "args"],
        "additionalProperties": False,
    }


def _field_schema(field: Field) -> dict[str, JSONValue]:
    if Kind.LABEL in field.kinds:
        return {"type": "string", "enum": sorted(str(value) for value in field.values)}
    types = sorted({_type_name(value) for value in field.values})
    return {"type": types[0] if len(types) == 1 else list(types)}


def _type_name(value: JSONValue) -> str:
    return next((name for kind, name in _TYPE_NAMES if isinstance(value, kind)), "null")


_TYPE_NAMES: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (int, "number"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
)
