"""`harness.yaml`: what a harness is called, needs, may spend, and lets a patch touch."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from evolve.core.errors import UserError
from evolve.core.protocols import Files
from harnesses.paths import MANIFEST_PATH, PathRules, path_problem
from harnesses.reading import read_model, refuse_hostile
from tool_forge.contract import ToolSignature, read_tools
from workflows.spec import Workflow, parse_workflow

_MODEL = ConfigDict(extra="forbid", frozen=True)


class Limits(BaseModel):
    """What one run of the harness on one case may use; beyond it the run is a harness fault."""

    model_config = _MODEL

    timeout_seconds: float = Field(default=60, gt=0, le=86_400, allow_inf_nan=False)
    max_calls: int = Field(default=16, ge=1, le=10_000)
    max_tokens: int = Field(default=32_768, ge=1, le=100_000_000)


class Manifest(BaseModel):
    """The checked content of `harness.yaml`. `harness.yaml` itself is never open to a patch."""

    model_config = _MODEL

    schema_version: Literal[1] = Field(alias="schema")
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=60)
    description: str = ""
    workflow: str = "workflow.yaml"
    roles: Annotated[dict[str, Literal["required", "optional"]], Field(min_length=1)] = {"agent": "required"}
    tools: str | None = None
    limits: Limits = Limits()
    writable: tuple[str, ...] = ("prompts/**", "demonstrations/**", "schemas/**", "workflow.yaml")
    forbidden: tuple[str, ...] = ()

    @field_validator("workflow", "tools")
    @classmethod
    def _inside(cls, path: str | None) -> str | None:
        if path is not None and (problem := path_problem(path)):
            raise ValueError(problem)
        return path

    @property
    def rules(self) -> PathRules:
        """What a patch may touch."""
        return PathRules(writable=self.writable, forbidden=(MANIFEST_PATH, *self.forbidden))


def file_text(files: Files, path: str) -> str:
    """The text of one file of a tree. Raises UserError when it is missing or not UTF-8."""
    if path not in files:
        raise UserError("the file is missing", place=path, fix=f"add {path} to the harness")
    try:
        return files[path].decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"not UTF-8 text at byte {error.start}", place=path) from error


def read_manifest(files: Files) -> Manifest:
    """The manifest of a tree. Raises UserError naming file, key and the nearest known name."""
    return _parse_manifest(file_text(files, MANIFEST_PATH))


@lru_cache(maxsize=64)
def _parse_manifest(text: str) -> Manifest:
    # Every question about a tree starts here, and one proposal asks a dozen of them.
    return read_model(Manifest, text, MANIFEST_PATH)


def patch_rules(files: Files) -> PathRules:
    """What the tree's own manifest lets a patch touch."""
    return read_manifest(files).rules


def harness_workflow(files: Files) -> Workflow:
    """The workflow that the manifest names."""
    path = read_manifest(files).workflow
    text = file_text(files, path)
    refuse_hostile(text, path)
    return parse_workflow(text, place=path)


def harness_tools(files: Files) -> dict[str, ToolSignature]:
    """The tools that the manifest names, by name; none when it names no file."""
    path = read_manifest(files).tools
    if path is None:
        return {}
    text = file_text(files, path)
    refuse_hostile(text, path)
    return read_tools(text, place=path)
