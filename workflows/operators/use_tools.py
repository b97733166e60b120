"""`use_tools`: one tool and its arguments. It produces the call and does not run it: what runs tools is a sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

from pydantic import Field, model_validator

from evolve.core.cases import input_text
from evolve.core.errors import HarnessFault
from evolve.core.hashing import JSONValue
from evolve.core.messages import Capability, ModelRequest
from workflows.asking.calls import Calls
from workflows.asking.demonstrations import Demonstration, written
from workflows.asking.labels import NO_CONTENT, best_label, resolve_offsets, score_labels
from workflows.asking.prompts import compose_prompt
from workflows.kit import View
from workflows.operators.contract import Operator, Produced
from workflows.params import AskParams
from workflows.reading.replies import read_object
from workflows.reading.schemas import Schema
from workflows.reading.spans import SpanOptions, find_candidates

Tool = Mapping[str, JSONValue]


class UseToolsParams(AskParams):
    """`tools` limits the choice (all of the kit's tools when empty). Demonstrations' outputs are {"tool", "args"}.

    `calibrate` and `offsets` are as in `choose`, over tool names. `pin_arguments` allows only values that stand in
    the input for text and number arguments; one without any candidate there stays free.
    """

    tools: tuple[str, ...] = ()
    calibrate: bool = True
    offsets: dict[str, float] | None = None
    pin_arguments: bool = False
    max_tokens: Annotated[int, Field(ge=1, le=2_048)] = 200

    @model_validator(mode="after")
    def _check_offsets(self) -> UseToolsParams:
        if self.offsets is not None and not self.calibrate:
            raise ValueError("offsets are given but calibrate is false")
        return self

    def tool_names(self) -> tuple[str, ...] | None:
        """The named tools, `()` for all."""
        return self.tools

    def needs(self) -> frozenset[Capability]:
        """Label probabilities for the tool, JSON schemas for its arguments."""
        return super().needs() | {Capability.LABELS, Capability.JSON_SCHEMA}

    def wrong_with(self, row: Demonstration) -> str:
        """Its output must be a call."""
        is_call = isinstance(row.output, dict) and isinstance(row.output.get("tool"), str)
        return "" if is_call else 'the output of a tool call is {"tool", "args"}'


class UseTools(Operator[UseToolsParams]):
    """First the tool, by label choice; then its arguments, under its own JSON schema; a forced answer costs no call."""

    name = "use_tools"
    params = UseToolsParams

    async def run(self, params: UseToolsParams, view: View, calls: Calls) -> Produced:
        """{"tool": name, "args": {…}}; the arguments fit the tool's parameters."""
        tools = _offered(params, calls)
        name = await _choose_tool(params, view, calls, tools) if len(tools) > 1 else next(iter(tools))
        return Produced({"tool": name, "args": await _fill_arguments(params, view, calls, tools[name])})


def _offered(params: UseToolsParams, calls: Calls) -> dict[str, Tool]:
    known = calls.kit.tools
    names = params.tools or tuple(known)
    missing = [name for name in names if name not in known]
    if missing or not names:
        raise HarnessFault(f"no such tool: {missing[0]}" if missing else "the harness has no tools")
    return {name: {"name": name, **known[name]} for name in names}


async def _choose_tool(params: UseToolsParams, view: View, calls: Calls, tools: Mapping[str, Tool]) -> str:
    scores = await score_labels(calls, params.role, tuple(tools), _choice_request(params, view, calls, tools))
    offsets: Mapping[str, float] = {}
    if params.calibrate:
        measure = partial(measure_tool_offsets, params, view.nodes, calls)
        offsets = await resolve_offsets(tuple(tools), params.offsets, measure)
    return best_label(scores, offsets)


async def measure_tool_offsets(params: UseToolsParams, nodes: frozenset[str], calls: Calls) -> dict[str, float]:
    """Tool → log probability where the input is "N/A": one call."""
    tools = _offered(params, calls)
    request = _choice_request(params, View(NO_CONTENT, {}, nodes), calls, tools)
    return await score_labels(calls, params.role, tuple(tools), request)


def _choice_request(params: UseToolsParams, view: View, calls: Calls, tools: Mapping[str, Tool]) -> ModelRequest:
    lines = "\n".join(f"- {name}: {_one_line(tool)}" for name, tool in tools.items())
    prompt = compose_prompt(params, view, calls, lambda row: _call_of(row)[0], system=f"Tools:\n{lines}")
    return prompt.request(params.style)


async def _fill_arguments(params: UseToolsParams, view: View, calls: Calls, tool: Tool) -> dict[str, JSONValue]:
    declared = dict(tool.get("parameters") or {"type": "object", "properties": {}})
    text = input_text(view.input)
    asked = pinned_schema(declared, text) if params.pin_arguments else declared
    forced = forced_arguments(asked)
    if forced is not None:
        return forced
    try:
        schema = Schema(declared)
    except ValueError as error:
        raise HarnessFault(f"tool {tool['name']}: {error}") from error
    request = replace(_argument_request(params, view, calls, tool), max_tokens=params.max_tokens, json_schema=asked)
    return read_object((await calls.ask(params.role, request)).text, schema.complain)


def _argument_request(params: UseToolsParams, view: View, calls: Calls, tool: Tool) -> ModelRequest:
    def answer(row: Demonstration) -> str | None:
        name, args = _call_of(row)
        return written(args) if name == tool["name"] else None

    properties = dict(tool["parameters"]).get("properties", {})
    listed = "\n".join(f"- {name}: {part.get('description') or part.get('type')}" for name, part in properties.items())
    about = f"Arguments of {tool['name']} ({_one_line(tool)}), as JSON:\n{listed}"
    return compose_prompt(params, view, calls, answer, system=about).request(params.style, free_text=False)


def pinned_schema(declared: Mapping[str, JSONValue], text: str) -> dict[str, JSONValue]:
    """The parameters with every text and number argument limited to what stands in the text."""
    properties = {name: _pinned(part, text) for name, part in declared.get("properties", {}).items()}
    return {**declared, "properties": properties}


def forced_arguments(schema: Mapping[str, JSONValue]) -> dict[str, JSONValue] | None:
    """The only possible arguments, when every one is required and has one allowed value; else None."""
    properties = schema.get("properties", {})
    if set(schema.get("required", ())) != set(properties):
        return None
    if any(len(part.get("enum", ())) != 1 for part in properties.values()):
        return None
    return {name: part["enum"][0] for name, part in properties.items()}


def _pinned(part: Mapping[str, JSONValue], text: str) -> Mapping[str, JSONValue]:
    if "enum" in part or "const" in part:
        return part
    values = _values_in_text(part, text)
    return {**part, "enum": values} if values else part


def _values_in_text(part: Mapping[str, JSONValue], text: str) -> Sequence[JSONValue]:
    kind, options = part.get("type"), SpanOptions()
    if kind == "string" and part.get("format") == "date":
        return [c.value for c in find_candidates(text, "date", options)]
    if kind == "string":
        return [c.text for c in find_candidates(text, "span", options)]
    if kind not in ("number", "integer"):
        return ()
    numbers = [c.value for c in find_candidates(text, "number", options)]
    return [n for n in numbers if kind == "number" or isinstance(n, int)]


def _call_of(row: Demonstration) -> tuple[str, JSONValue]:
    output = row.output if isinstance(row.output, dict) else {}
    name = output.get("tool")
    if not isinstance(name, str):
        raise HarnessFault(f"demonstration {row.id!r} is no tool call")
    return name, output.get("args", {})


def _one_line(tool: Tool) -> str:
    text = str(tool.get("description", "")).strip()
    return text.splitlines()[0] if text else str(tool["name"])
