"""A scripted model, a letter-count embedder and short ways to run a workflow."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from evolve.core.messages import Capability, ModelReply, ModelRequest, Usage
from workflows.compile import compile_workflow
from workflows.kit import Kit, Outcome
from workflows.spec import Workflow, parse_workflow

Script = Callable[[ModelRequest, random.Random], str | Mapping[str, float]]


class Scripted:
    """Replies with what the script says; keeps every request. A mapping is a set of label log probabilities."""

    identity = "scripted:test"
    capabilities = frozenset(Capability)

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[ModelRequest] = []

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        said = self.script(request, random.Random(request.seed))
        usage = Usage(prompt_tokens=10, completion_tokens=2)
        if isinstance(said, str):
            return ModelReply(said, usage)
        return ModelReply("", usage, label_logprobs=said)

    async def close(self) -> None:
        """Nothing to end."""


class Letters:
    """Texts as unit vectors of their letter counts; counts how many texts it was asked for."""

    identity = "letters"

    def __init__(self) -> None:
        self.embedded = 0

    def embed(self, texts):
        self.embedded += len(texts)
        rows = np.array([[text.lower().count(chr(97 + i)) for i in range(26)] for text in texts], dtype=np.float32)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


@pytest.fixture
def scripted() -> Callable[[Script | str], Scripted]:
    def build(script: Script | str) -> Scripted:
        return Scripted((lambda request, rng: script) if isinstance(script, str) else script)

    return build


@pytest.fixture
def letters() -> Letters:
    return Letters()


@pytest.fixture
def one_node() -> Callable[..., Workflow]:
    """A workflow of one node called `only`."""

    def build(operator: str, **params: Any) -> Workflow:
        return Workflow.model_validate(
            {"schema": 1, "start": "only", "nodes": {"only": {"operator": operator, "params": params}}}
        )

    return build


@pytest.fixture
def run() -> Callable[..., Any]:
    """Compiles and runs a workflow (or its YAML) with one model as `agent` and text files."""

    async def go(workflow: Workflow | str, input: Any, model: Scripted | None = None, **kit: Any) -> Outcome:
        parsed = parse_workflow(workflow) if isinstance(workflow, str) else workflow
        files = {path: text.encode() for path, text in kit.pop("files", {}).items()}
        models = {"agent": model} if model is not None else {}
        return await compile_workflow(parsed).run(input, Kit(models=models, files=files, **kit))

    return go
