"""YAML files into pydantic models, with errors that name file, line, key, the nearest known key and the fix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from evolve.core.errors import UserError
from evolve.core.names import nearest

M = TypeVar("M", bound=BaseModel)


def read_document(path: Path, model: type[M]) -> M:
    """The validated content of the YAML file at `path`. Raises UserError for whatever is wrong in it."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UserError("there is no such file", place=str(path), fix="check the path") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot be read as UTF-8 text: {error}", place=str(path)) from None
    return parse_document(text, model, str(path))


def parse_document(text: str, model: type[M], place: str) -> M:
    """The validated content of YAML `text`; `place` is what errors call it."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            raise UserError("the file is empty", place=place, fix="write at least the required keys")
        _refuse_repeated_keys(root, place)
        data = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UserError(f"not valid YAML: {error.problem}", place=f"{place}:{line}", fix="mend the syntax") from None
    except yaml.YAMLError as error:
        raise UserError(f"not valid YAML: {error}", place=place, fix="mend the syntax") from None
    except RecursionError:
        raise UserError("nested too deeply, or within itself", place=place, fix="mend the structure") from None
    except (ValueError, TypeError, AttributeError) as error:  # the YAML library lets all three out
        raise UserError(f"a value cannot be read: {error}", place=place, fix="quote it if it is a text") from None
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise _explain(error, root, model, place) from None


def _refuse_repeated_keys(node: yaml.Node, place: str) -> None:
    if isinstance(node, yaml.SequenceNode):
        for child in node.value:
            _refuse_repeated_keys(child, place)
    if not isinstance(node, yaml.MappingNode):
        return
    seen: dict[str, int] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise UserError("a key is a list or an object", place=f"{place}:{line}", fix="make it one text")
        if key.value in seen:
            raise UserError(
                f"key {key.value!r} stands twice (lines {seen[key.value]} and {line})",
                place=f"{place}:{line}",
                fix="keep one of them",
            )
        seen[str(key.value)] = line
        _refuse_repeated_keys(value, place)


def _explain(error: ValidationError, root: yaml.Node, model: type[BaseModel], place: str) -> UserError:
    """The first problem of a validation error as a UserError; the count of the others is said."""
    problems = error.errors(include_url=False)
    first = problems[0]
    path = [str(part) for part in first["loc"]]
    line = _line(root, path)
    message = f"{'.'.join(path) or 'document'}: {first['msg']}"
    fix = "correct this value"
    if first["type"] == "extra_forbidden":
        known = _known_keys(model, path[:-1])
        hint = nearest(path[-1], known)
        message = f"unknown key {'.'.join(path)!r}"
        fix = f"did you mean {hint!r}?" if hint else f"known keys here: {', '.join(known)}"
    elif first["type"] == "missing":
        message, fix = f"required key {'.'.join(path)!r} is missing", f"add {path[-1]!r}"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return UserError(message + more, place=f"{place}:{line}", fix=fix)


def _line(node: yaml.Node, path: Sequence[str]) -> int:
    """The line of the deepest node on `path` that exists, from 1."""
    line = node.start_mark.line + 1
    for part in path:
        if isinstance(node, yaml.MappingNode):
            hit = next(((k, v) for k, v in node.value if str(k.value) == part), None)
            if hit is None:
                continue
            line, node = hit[0].start_mark.line + 1, hit[1]
        elif isinstance(node, yaml.SequenceNode) and part.isdigit() and int(part) < len(node.value):
            node = node.value[int(part)]
            line = node.start_mark.line + 1
    return line


def _known_keys(model: type[BaseModel], path: Sequence[str]) -> list[str]:
    """The keys of the model that stands at `path` below `model`; [] where that is not a model."""
    current: Any = model
    for part in path:
        if not (isinstance(current, type) and issubclass(current, BaseModel)):
            return []
        field = current.model_fields.get(part)
        if field is None:
            continue
        current = _inner_model(field.annotation)
    if isinstance(current, type) and issubclass(current, BaseModel):
        return [f.alias or name for name, f in current.model_fields.items()]
    return []


def _inner_model(annotation: Any) -> Any:
    """The model inside `Model | None`, `dict[str, Model]`, `list[Model]`; else the annotation."""
    arguments = getattr(annotation, "__args__", ())
    for argument in arguments:
        if isinstance(argument, type) and issubclass(argument, BaseModel):
            return argument
    return annotation
