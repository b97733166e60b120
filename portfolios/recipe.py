"""Recipe and policy of a router: everything that decides its behaviour except the facts it is fitted on."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from evolve.core.hashing import JSONValue


class RouterPolicy(BaseModel):
    """When to trust the matcher, and where to go otherwise."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    default_member: Annotated[str, Field(min_length=1)]
    """The tree that serves whenever the matcher is not to be trusted."""
    margin: Annotated[float, Field(ge=0.0, le=10.0, allow_inf_nan=False)] = 1.0
    """A predicted advantage over the default must exceed this many of its standard deviations."""
    far_quantile: Annotated[float, Field(ge=0.0, le=0.5)] = 0.01
    """A query is far when it is stranger than all but this share of the known queries are to each other."""
    cost_weight: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0
    """λ of (1 − λ)·score + λ·(1 − cost), cost min-max normalised on training edges."""


class RouterRecipe(BaseModel):
    """How the matcher is built; with the edges of `edge_set_hash` it fits to the same router again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    matcher: str
    settings: dict[str, JSONValue]
    seed: int
    embedding: str
    edge_set_hash: str
