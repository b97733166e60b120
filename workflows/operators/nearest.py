"""`nearest`: the output of the labelled examples that are most like the input; no model is called."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from evolve.core.cases import input_text
from evolve.core.errors import HarnessFault
from evolve.core.hashing import JSONValue, canonical_json
from evolve.core.protocols import Embedder
from workflows.asking.calls import Calls
from workflows.asking.demonstrations import read_demonstrations
from workflows.kit import View
from workflows.operators.contract import Operator, Produced
from workflows.params import FileUse, OperatorParams

NEAR, FAR = "near", "far"


class NearestParams(OperatorParams):
    """The `k` most similar rows vote, each with its cosine similarity. Below `far_below` the outcome is `far`."""

    demonstrations: str
    k: Annotated[int, Field(ge=1, le=50)] = 1
    far_below: Annotated[float, Field(ge=-1.0, le=1.0)] = 0.0

    def files(self) -> tuple[FileUse, ...]:
        """The labelled examples."""
        return (FileUse("demonstrations", self.demonstrations, "demonstrations"),)


class Nearest(Operator[NearestParams]):
    """Similarity by the kit's embedder.

    The rows' vectors are a pure function of file and embedder, so they are kept in the compiled workflow's memo under
    the content of both. Embedding runs in a thread: the event loop stays free.
    """

    name = "nearest"
    params = NearestParams
    outcomes = (NEAR, FAR)

    async def run(self, params: NearestParams, view: View, calls: Calls) -> Produced:
        """The winning example's output, also when it is far: the outcome says so."""
        embedder = calls.kit.embedder
        if embedder is None:
            raise HarnessFault("nearest needs an embedder, and the run was given none")
        rows = calls.derive(params.demonstrations, read_demonstrations)
        if not rows:
            raise HarnessFault(f"{params.demonstrations}: no examples")
        similarities = await asyncio.to_thread(_similarities, params, embedder, input_text(view.input), calls)
        order = np.argsort(-similarities, kind="stable")[: params.k]
        output = _weighted_majority([(rows[i].output, float(similarities[i])) for i in order])
        return Produced(output, NEAR if float(similarities[order[0]]) >= params.far_below else FAR)


def _similarities(params: NearestParams, embedder: Embedder, text: str, calls: Calls) -> NDArray[np.float32]:
    def embed_rows(data: bytes) -> NDArray[np.float32]:
        return embedder.embed([input_text(row.input) for row in read_demonstrations(data)])

    vectors = calls.derive(params.demonstrations, embed_rows, under=f"vectors by {embedder.identity}")
    similarities: NDArray[np.float32] = vectors @ embedder.embed([text])[0]
    return similarities


def _weighted_majority(found: Sequence[tuple[JSONValue, float]]) -> JSONValue:
    """The output with the largest summed similarity (negative ones count nothing); the nearest wins a tie."""
    weights: dict[bytes, float] = {}
    for output, similarity in found:
        key = canonical_json(output)
        weights[key] = weights.get(key, 0.0) + max(similarity, 0.0)
    best = max(weights.values())
    return next(output for output, _ in found if weights[canonical_json(output)] == best)
