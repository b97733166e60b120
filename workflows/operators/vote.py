"""`vote`: self-consistency: several samples of one question, the most frequent answer wins."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, model_validator

from evolve.core.errors import HarnessFault
from evolve.core.hashing import JSONValue, canonical_json
from evolve.core.messages import Capability
from workflows.asking.calls import Calls
from workflows.kit import View
from workflows.operators.contract import Operator, Produced
from workflows.operators.generate import GenerateParams, generate
from workflows.params import FileUse, OperatorParams


class VoteParams(OperatorParams):
    """`sample` holds the parameters of `generate`; its temperature must not be 0, or all samples would agree."""

    n: Annotated[int, Field(ge=2, le=15)] = 5
    sample: GenerateParams

    @model_validator(mode="after")
    def _check_temperature(self) -> VoteParams:
        if self.sample.temperature == 0:
            raise ValueError("sample.temperature must be above 0 for the samples to differ")
        return self

    def files(self) -> tuple[FileUse, ...]:
        """Those of the sample."""
        return tuple(FileUse(f"sample.{use.param}", use.path, use.kind) for use in self.sample.files())

    def roles(self) -> tuple[str, ...]:
        """That of the sample."""
        return self.sample.roles()

    def needs(self) -> frozenset[Capability]:
        """What the sample needs."""
        return self.sample.needs()


class Vote(Operator[VoteParams]):
    """Wang et al. 2022, Self-Consistency. Samples differ by seed; those that do not parse have no vote."""

    name = "vote"
    params = VoteParams

    async def run(self, params: VoteParams, view: View, calls: Calls) -> Produced:
        """The output that most samples gave, compared as canonical JSON; the first seen wins a tie.

        All samples end before a failure of the world is raised, so that nothing paid for is left in flight.
        """
        sampled = await asyncio.gather(
            *(generate(params.sample, view, calls) for _ in range(params.n)), return_exceptions=True
        )
        failures = [s for s in sampled if isinstance(s, BaseException)]
        failures.sort(key=lambda failure: not getattr(failure, "halts", False))
        for failure in failures:
            if not isinstance(failure, HarnessFault):
                raise failure
        if len(failures) == params.n:
            raise HarnessFault(f"none of {params.n} samples could be read; the first: {failures[0]}")
        return Produced(majority([s for s in sampled if not isinstance(s, BaseException)]))


def majority(outputs: Sequence[JSONValue]) -> JSONValue:
    """The most frequent of some outputs; of equally frequent ones the first."""
    counts: dict[bytes, int] = {}
    for output in outputs:
        key = canonical_json(output)
        counts[key] = counts.get(key, 0) + 1
    best = max(counts.values())
    return next(output for output in outputs if counts[canonical_json(output)] == best)
