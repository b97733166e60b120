"""`choose`: one label of several, by calibrated log probability instead of generated text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated

from pydantic import Field, model_validator

from evolve.core.hashing import JSONValue
from evolve.core.messages import Capability, ModelRequest
from workflows.asking.calls import Calls
from workflows.asking.demonstrations import Demonstration, written
from workflows.asking.labels import NO_CONTENT, best_label, resolve_offsets, score_labels
from workflows.asking.prompts import compose_prompt
from workflows.kit import View
from workflows.operators.contract import Operator, Produced
from workflows.params import AskParams


class ChooseParams(AskParams):
    """`offsets` (label → log probability without content) are subtracted when `calibrate` is on.

    Where they are left out, each visit asks for them with one more call; whoever builds the harness measures them
    once with `measure_offsets` and bakes them in.
    """

    labels: Annotated[tuple[str, ...], Field(min_length=2, max_length=200)]
    calibrate: bool = True
    offsets: dict[str, float] | None = None
    output_key: Annotated[str, Field(min_length=1)] = "label"

    @model_validator(mode="after")
    def _check_labels(self) -> ChooseParams:
        if len(set(self.labels)) != len(self.labels) or not all(label.strip() for label in self.labels):
            raise ValueError("labels must differ and must not be empty")
        if self.offsets is not None and set(self.offsets) != set(self.labels):
            raise ValueError("offsets must name every label and nothing else")
        if self.offsets is not None and not self.calibrate:
            raise ValueError("offsets are given but calibrate is false")
        return self

    def needs(self) -> frozenset[Capability]:
        """Label probabilities."""
        return super().needs() | {Capability.LABELS}

    def wrong_with(self, row: Demonstration) -> str:
        """Its output must be a label."""
        label = _label_of(row.output, self.output_key)
        return "" if label in self.labels else f"the output {label!r} is none of the labels"


class Choose(Operator[ChooseParams]):
    """Scores every label as the continuation of the prompt; the reply is never parsed, so it cannot be malformed."""

    name = "choose"
    params = ChooseParams

    async def run(self, params: ChooseParams, view: View, calls: Calls) -> Produced:
        """{output_key: label}."""
        scores = await score_labels(calls, params.role, params.labels, _request(params, view, calls))
        offsets: Mapping[str, float] = {}
        if params.calibrate:
            measure = partial(measure_label_offsets, params, view.nodes, calls)
            offsets = await resolve_offsets(params.labels, params.offsets, measure)
        return Produced({params.output_key: best_label(scores, offsets)})


async def measure_label_offsets(params: ChooseParams, nodes: frozenset[str], calls: Calls) -> dict[str, float]:
    """Label → log probability where the input is "N/A": one call."""
    request = _request(params, View(NO_CONTENT, {}, nodes), calls)
    return await score_labels(calls, params.role, params.labels, request)


def _request(params: ChooseParams, view: View, calls: Calls) -> ModelRequest:
    def answer(row: Demonstration) -> str:
        return written(_label_of(row.output, params.output_key))

    return compose_prompt(params, view, calls, answer).request(params.style)


def _label_of(output: JSONValue, key: str) -> JSONValue:
    return output[key] if isinstance(output, dict) and key in output else output
