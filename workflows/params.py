"""What every operator's parameters can say about themselves, so that a static check needs no operator to run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from evolve.core.messages import Capability
from workflows.asking.demonstrations import Demonstration

FileKind = Literal["prompt", "system", "demonstrations", "schema"]


@dataclass(frozen=True, slots=True)
class FileUse:
    """A parameter that names a file of the tree, and what the file must hold."""

    param: str
    path: str
    kind: FileKind


class OperatorParams(BaseModel):
    """Base of all parameters. `node_params` lists the parameters that hold the name of another node."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    node_params: ClassVar[tuple[str, ...]] = ()

    def files(self) -> tuple[FileUse, ...]:
        """Every file that the operator will read."""
        return ()

    def roles(self) -> tuple[str, ...]:
        """Every model role that the operator may ask."""
        return ()

    def tool_names(self) -> tuple[str, ...] | None:
        """The tools it chooses from: named ones, `()` for all there are, None for an operator without tools."""
        return None

    def needs(self) -> frozenset[Capability]:
        """What its model must be able to do beyond chat."""
        return frozenset()

    def wrong_with(self, row: Demonstration) -> str:
        """Why a demonstration is of no use to this operator; empty when it is."""
        return ""


class AskParams(OperatorParams):
    """Parameters of operators that ask a model.

    `prompt` is a template file with `{input}` and `{NODE}` placeholders; `system` is a file sent before everything;
    `demonstrations` is a JSONL file of {"id", "input", "output"} rows, of which the first `max_demonstrations` are
    shown. Each demonstration's question is rendered with the same template. `style: plain` writes
    `Input: …` / `Output: …` blocks for a model without a chat template.
    """

    prompt: str
    system: str | None = None
    demonstrations: str | None = None
    max_demonstrations: Annotated[int, Field(ge=1, le=64)] | None = None
    style: Literal["chat", "plain"] = "chat"
    role: str = "agent"

    def files(self) -> tuple[FileUse, ...]:
        """Prompt, system text and demonstrations."""
        uses = [FileUse("prompt", self.prompt, "prompt")]
        if self.system is not None:
            uses.append(FileUse("system", self.system, "system"))
        if self.demonstrations is not None:
            uses.append(FileUse("demonstrations", self.demonstrations, "demonstrations"))
        return tuple(uses)

    def roles(self) -> tuple[str, ...]:
        """The one role that is asked."""
        return (self.role,)

    def needs(self) -> frozenset[Capability]:
        """Plain completion where the style is plain."""
        return frozenset({Capability.PLAIN}) if self.style == "plain" else frozenset()
