"""Faults that only models raise."""

from __future__ import annotations

from evolve.core.errors import WorldError


class PromptTooLong(WorldError):
    """The prompt does not fit into the model's context; the same prompt never will, so it is not a passing fault."""

    def __init__(self, model: str, detail: str) -> None:
        super().__init__(f"{model}: the prompt does not fit into the context: {detail}", passing=False)
