"""What a run is given, what an operator sees of it, and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evolve.core.errors import HarnessFault
from evolve.core.hashing import JSONValue
from evolve.core.messages import Model
from evolve.core.protocols import Embedder, Files
from evolve.core.traces import Step


@dataclass(frozen=True)
class Kit:
    """Everything a run may use. `models` is by role; `tools` is name → {name, description, parameters: JSON schema}."""

    models: Mapping[str, Model]
    files: Files
    embedder: Embedder | None = None
    tools: Mapping[str, Mapping[str, JSONValue]] = field(default_factory=dict)
    seed: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """The state as an operator sees it. `outputs` holds the last output of each node that has run."""

    input: JSONValue
    outputs: Mapping[str, JSONValue]
    nodes: frozenset[str]
    """every node of the workflow, run or not"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished run: the answer and one step for each node visit, in order."""

    output: JSONValue
    steps: tuple[Step, ...]


class WorkflowFault(HarnessFault):
    """The workflow failed by its own doing. `steps` ends with the failed one, whose `error` says why."""

    def __init__(self, message: str, steps: tuple[Step, ...]) -> None:
        self.steps = steps
        super().__init__(message)
