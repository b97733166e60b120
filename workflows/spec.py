"""The workflow file: nodes, branches and limits as immutable data, read from YAML and written back."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue

END = "end"
"""The target that ends a run."""

INPUT = "input"
"""The placeholder of the input in prompt templates."""

MAX_NODES = 8
MAX_VISITS = 5
MAX_BYTES = 64_000

_NODE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")


class Branch(BaseModel):
    """Where to go when the operator's outcome is `when`; always, when it is None."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    when: str | None = None
    to: str

    def fits(self, outcome: str) -> bool:
        """Whether this branch may be taken after `outcome`."""
        return self.when is None or self.when == outcome


class Node(BaseModel):
    """One operator with its parameters and its branches; the first fitting branch wins."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    operator: str
    params: dict[str, JsonValue] = Field(default_factory=dict)
    next: Annotated[tuple[Branch, ...], Field(min_length=1)] = (Branch(to=END),)

    @field_validator("next", mode="before")
    @classmethod
    def _lift_target(cls, value: Any) -> Any:
        return [{"to": value}] if isinstance(value, str) else value

    @field_validator("params")
    @classmethod
    def _refuse_infinite(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if not _is_finite(value):
            raise ValueError("NaN and infinity are not allowed")
        return value


class Workflow(BaseModel):
    """A graph from `start` to `end`. `output` names the node whose last output is the answer.

    Without `output` the answer is the output of the last visited node that gives one (`verify` gives none).
    No node runs more than `max_visits` times in one run.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    start: str
    nodes: Annotated[dict[str, Node], Field(min_length=1, max_length=MAX_NODES)]
    max_visits: Annotated[int, Field(ge=1, le=MAX_VISITS)] = 3
    output: str | None = None

    @field_validator("nodes")
    @classmethod
    def _check_names(cls, nodes: dict[str, Node]) -> dict[str, Node]:
        for name in nodes:
            if not _NODE_NAME.fullmatch(name):
                raise ValueError(f"node name {name!r} must be a letter or _ followed by letters, digits or _")
            if name in (END, INPUT):
                raise ValueError(f"a node cannot be called {name!r}: the word is taken")
        return nodes

    def successors(self, name: str) -> tuple[str, ...]:
        """Targets of a node in branch order, without repeats; `end` included."""
        return tuple(dict.fromkeys(branch.to for branch in self.nodes[name].next))


def parse_workflow(text: str, *, place: str = "workflow.yaml") -> Workflow:
    """Reads a workflow. Raises UserError naming file and key; graph errors are `check_workflow`'s to find."""
    if len(text) > MAX_BYTES:
        raise UserError(f"longer than {MAX_BYTES:,} characters", place=place, fix="shorten the workflow")
    try:
        raw = yaml.load(text, Loader=_StrictLoader)
        return Workflow.model_validate(raw)
    except yaml.YAMLError as error:
        raise UserError(f"not readable as YAML: {error}", place=place) from error
    except RecursionError as error:
        raise UserError("nested too deeply", place=place) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "(top)"
        raise UserError(str(first["msg"]), place=f"{place}: {key}") from error
    except ValueError as error:  # PyYAML lets a date such as 2026-13-45 escape like this
        raise UserError(f"not readable as YAML: {error}", place=place) from error


def dump_workflow(workflow: Workflow) -> str:
    """YAML that `parse_workflow` reads back as an equal workflow."""
    raw: dict[str, JSONValue] = {"schema": workflow.schema_version, "start": workflow.start}
    raw["nodes"] = {name: _dump_node(node) for name, node in workflow.nodes.items()}
    raw["max_visits"] = workflow.max_visits
    if workflow.output is not None:
        raw["output"] = workflow.output
    return yaml.dump(raw, Dumper=_PlainDumper, sort_keys=False, allow_unicode=True, width=120)


def _dump_node(node: Node) -> dict[str, JSONValue]:
    raw: dict[str, JSONValue] = {"operator": node.operator}
    if node.params:
        raw["params"] = node.params
    if len(node.next) == 1 and node.next[0].when is None:
        raw["next"] = node.next[0].to
    else:
        raw["next"] = [branch.model_dump(exclude_none=True) for branch in node.next]
    return raw


def _is_finite(value: JSONValue) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(_is_finite(part) for part in value.values())
    return all(_is_finite(part) for part in value) if isinstance(value, list) else True


class _StrictLoader(yaml.SafeLoader):
    """Refuses what would be read silently wrong: a repeated key (the last would win) and aliases (they explode)."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.constructor.ConstructorError(None, None, "aliases are not allowed", self.get_mark())
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value in seen:
                fault = "is repeated" if isinstance(key, yaml.ScalarNode) else "is not a word"
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} {fault}", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


class _PlainDumper(yaml.SafeDumper):
    """Writes repeated values out instead of using aliases, which the loader refuses."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, data: str) -> yaml.ScalarNode:
        # Unquoted, the next-line character would come back as a space.
        return self.represent_scalar("tag:yaml.org,2002:str", data, style='"' if "\x85" in data else None)


_PlainDumper.add_representer(str, _PlainDumper.represent_text)
