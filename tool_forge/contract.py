"""What a tool promises: a name, at most five typed parameters, and when a call keeps to them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from evolve.core.names import nearest

MAX_PARAMETERS = 5

ParameterType = Literal["string", "integer", "number", "boolean", "enum"]
_PLAIN = ConfigDict(extra="forbid", frozen=True)


class Parameter(BaseModel):
    """One typed argument. `values` lists the choices of an `enum` and is empty for every other type."""

    model_config = _PLAIN

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)
    type: ParameterType
    description: str = ""
    required: bool = True
    values: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check_values(self) -> Parameter:
        if (self.type == "enum") != bool(self.values):
            raise ValueError("an enum parameter lists its choices in `values`, and only an enum does")
        if len(set(self.values)) != len(self.values):
            raise ValueError("the choices in `values` must differ")
        return self

    def schema_part(self) -> dict[str, JSONValue]:
        """The JSON schema of this argument."""
        if self.type == "enum":
            return {"type": "string", "enum": list(self.values)}
        return {"type": self.type}


class ToolSignature(BaseModel):
    """What a caller must know. Names read verb_target, such as `cancel_order`."""

    model_config = _PLAIN

    name: str = Field(pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)+$", max_length=60)
    description: str = Field(min_length=1)
    parameters: Annotated[tuple[Parameter, ...], Field(max_length=MAX_PARAMETERS)] = ()

    @field_validator("parameters")
    @classmethod
    def _names_differ(cls, parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
        names = [p.name for p in parameters]
        if len(set(names)) != len(names):
            raise ValueError("two parameters have one name")
        return parameters

    def parameter_schema(self) -> dict[str, JSONValue]:
        """The JSON schema of the arguments object."""
        properties = {}
        for parameter in self.parameters:
            described = {"description": parameter.description} if parameter.description else {}
            properties[parameter.name] = {**parameter.schema_part(), **described}
        return {
            "type": "object",
            "properties": properties,
            "required": [p.name for p in self.parameters if p.required],
            "additionalProperties": False,
        }

    def tool_schema(self) -> dict[str, JSONValue]:
        """Name, description and parameters: the form in which a workflow receives its tools."""
        return {"name": self.name, "description": self.description, "parameters": self.parameter_schema()}


class _ToolFile(BaseModel):
    model_config = _PLAIN

    schema_version: Literal[1] = Field(alias="schema")
    tools: tuple[ToolSignature, ...]


def read_tools(text: str, *, place: str = "tools.yaml") -> dict[str, ToolSignature]:
    """The tools of a `tools.yaml` by name, in file order. Raises UserError naming file and key."""
    try:
        raw = yaml.safe_load(text)
        parsed = _ToolFile.model_validate(raw)
    except yaml.YAMLError as error:
        raise UserError(f"not readable as YAML: {error}", place=place) from error
    except RecursionError as error:
        raise UserError("nested too deeply", place=place) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "(top)"
        raise UserError(str(first["msg"]), place=f"{place}: {key}", fix=_TOOL_FIX) from error
    tools = {tool.name: tool for tool in parsed.tools}
    if len(tools) != len(parsed.tools):
        raise UserError("two tools have one name", place=f"{place}: tools", fix="rename one of them")
    return tools


_TOOL_FIX = (
    "a tool has a verb_target name, a description and up to five parameters "
    "{name, type: string|integer|number|boolean|enum, description, required, values}"
)


def call_schema(tool: ToolSignature) -> dict[str, JSONValue]:
    """The JSON schema of one call `{"tool": NAME, "args": {…}}`."""
    return {
        "type": "object",
        "properties": {"tool": {"const": tool.name}, "args": tool.parameter_schema()},
        "required": ["tool", "args"],
        "additionalProperties": False,
    }


def check_call(call: JSONValue, tools: Mapping[str, ToolSignature]) -> list[str]:
    """What is wrong with `{"tool": NAME, "args": {…}}`; an empty list when it keeps to the contract."""
    if not isinstance(call, Mapping) or set(call) != {"tool", "args"}:
        return ['a call is an object with exactly the keys "tool" and "args"']
    name, args = call["tool"], call["args"]
    if not isinstance(name, str) or name not in tools:
        return [f"unknown tool {name!r}{_nearest(str(name), list(tools))}"]
    if not isinstance(args, Mapping):
        return [f"{name}: args must be an object"]
    return _check_args(tools[name], args)


def _check_args(tool: ToolSignature, args: Mapping[str, Any]) -> list[str]:
    parameters = {p.name: p for p in tool.parameters}
    problems = [
        f"{tool.name}: unknown argument {name!r}{_nearest(str(name), list(parameters))}"
        for name in args
        if name not in parameters
    ]
    for name, parameter in parameters.items():
        if name not in args:
            if parameter.required:
                problems.append(f"{tool.name}: missing argument {name!r}")
        elif not _fits(parameter, args[name]):
            problems.append(f"{tool.name}: {name!r} must be {_describe(parameter)}, not {args[name]!r:.80}")
    return problems


def _fits(parameter: Parameter, value: Any) -> bool:
    if parameter.type == "boolean":
        return isinstance(value, bool)
    if parameter.type == "string":
        return isinstance(value, str)
    if parameter.type == "enum":
        return isinstance(value, str) and value in parameter.values
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if not math.isfinite(value):
        return False
    return parameter.type == "number" or isinstance(value, int) or value.is_integer()


def _describe(parameter: Parameter) -> str:
    if parameter.type == "enum":
        return "one of " + ", ".join(parameter.values)
    return "an integer" if parameter.type == "integer" else f"a {parameter.type}"


def _nearest(name: str, known: Sequence[str]) -> str:
    close = nearest(name, known, cutoff=0.6)
    return f"; did you mean {close!r}?" if close else ""
