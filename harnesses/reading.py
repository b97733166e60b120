"""YAML into checked models; errors name the file, the key and the nearest known name."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from workflows.names import nearest_hint

M = TypeVar("M", bound=BaseModel)

MAX_DEPTH = 40
"""Levels of nesting that a YAML file may have; reading deeper ones takes time that grows with the square."""

_OPENING = (
    yaml.BlockMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.FlowSequenceStartToken,
)
_CLOSING = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)


class _StrictLoader(yaml.SafeLoader):
    """Refuses repeated keys, of which the last would win silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} stands twice", key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


def read_yaml(text: str, place: str) -> JSONValue:
    """The value of a YAML text. Raises UserError naming `place` and the line."""
    try:
        _scan(text)
        return yaml.load(text, Loader=_StrictLoader)
    except yaml.MarkedYAMLError as error:
        raise _as_user_error(error, place) from error
    except (yaml.YAMLError, ValueError) as error:
        raise UserError(f"not readable as YAML: {error}", place=place) from error


def refuse_hostile(text: str, place: str) -> None:
    """Raises UserError for YAML that would take very long or grow without bound: deep nesting and aliases."""
    try:
        _scan(text)
    except yaml.MarkedYAMLError as error:
        raise _as_user_error(error, place) from error


def _scan(text: str) -> None:
    depth = 0
    for token in yaml.scan(text):
        if isinstance(token, yaml.AliasToken):
            raise yaml.scanner.ScannerError(None, None, "aliases are not accepted", token.start_mark)
        depth += isinstance(token, _OPENING) - isinstance(token, _CLOSING)
        if depth > MAX_DEPTH:
            raise yaml.scanner.ScannerError(None, None, "nested too deeply", token.start_mark)


def _as_user_error(error: yaml.MarkedYAMLError, place: str) -> UserError:
    line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
    return UserError(f"not readable as YAML: {error.problem}", place=f"{place}{line}")


def read_model(model: type[M], text: str, place: str) -> M:
    """The YAML text as a checked model. Raises UserError for the first problem."""
    raw = read_yaml(text, place)
    if not isinstance(raw, dict):
        raise UserError("must be a mapping of keys to values", place=place)
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = _known_keys(model, first["loc"][:-1])
            raise UserError(
                "unknown key", place=f"{place}: {key}", fix=nearest_hint(str(first["loc"][-1]), known)
            ) from error
        fix = f"add `{key}`" if first["type"] == "missing" else ""
        raise UserError(str(first["msg"]), place=f"{place}: {key}", fix=fix) from error


def _known_keys(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    for part in location:
        field = next((f for n, f in model.model_fields.items() if part in (n, f.alias)), None)
        if field is None or not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            return []
        model = field.annotation
    return [field.alias or name for name, field in model.model_fields.items()]
