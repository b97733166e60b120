"""One small graph network on the query–member graph, with its gradient: two rounds of messages and a decoder an edge.

Queries and members exchange messages along known edges, weighed by how far a score departs from the member's mean.
Queries that are asked about have no edges: their scores are what is predicted, so they must not be messages too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from portfolios.edges import Floats

Parameters = dict[str, Floats]


@dataclass(frozen=True, eq=False)
class Messages:
    """Known queries: features `inputs` (n, p); departures over a member's count (n, m) and over a query's count."""

    inputs: Floats
    to_members: Floats
    to_queries: Floats

    @classmethod
    def of(cls, inputs: Floats, scores: Floats, means: Floats) -> Messages:
        """Missing edges carry no message."""
        departures = np.nan_to_num(scores - means, nan=0.0)
        present = ~np.isnan(scores)
        by_member, by_query = present.sum(axis=0), present.sum(axis=1, keepdims=True)
        return cls(inputs, departures / np.maximum(by_member, 1), departures / np.maximum(by_query, 1))


def new_parameters(features: int, members: int, width: int, rng: np.random.Generator) -> Parameters:
    """Random start."""

    def matrix(rows: int, columns: int) -> Floats:
        return np.asarray(rng.normal(0.0, np.sqrt(2.0 / rows), (rows, columns)), np.float64)

    square = ("member1", "to_member1", "query1", "to_query1", "member2", "to_member2", "decode")
    return {
        "input": matrix(features, width),
        "offset": np.zeros(width),
        "members": matrix(members, width),
        "bias": np.zeros(width),
        **{name: matrix(width, width) for name in square},
    }


@dataclass(frozen=True, eq=False)
class Pass:
    """Everything of a forward pass that the gradient needs; `logits` (q, m) are departures from the members' means."""

    known0: Floats
    asked0: Floats
    member1: Floats
    known1: Floats
    asked1: Floats
    member2: Floats
    logits: Floats


def forward(p: Parameters, known: Messages, asked: Floats) -> Pass:
    """Logits of every member on the asked queries (q, p)."""
    known0 = _positive(known.inputs @ p["input"] + p["offset"])
    asked0 = _positive(asked @ p["input"] + p["offset"])
    member1 = _positive(p["members"] @ p["member1"] + known.to_members.T @ known0 @ p["to_member1"])
    known1 = _positive(known0 @ p["query1"] + known.to_queries @ p["members"] @ p["to_query1"])
    asked1 = _positive(asked0 @ p["query1"])
    member2 = _positive(member1 @ p["member2"] + known.to_members.T @ known1 @ p["to_member2"])
    logits = asked1 @ p["decode"] @ member2.T / np.sqrt(len(p["bias"])) + member2 @ p["bias"]
    return Pass(known0, asked0, member1, known1, asked1, member2, logits)


def backward(p: Parameters, known: Messages, asked: Floats, made: Pass, slope: Floats) -> Parameters:
    """Gradients of a loss whose derivative by the logits is `slope` (q, m)."""
    scale = 1.0 / np.sqrt(len(p["bias"]))
    total = slope.sum(axis=0)
    g = {"decode": made.asked1.T @ slope @ made.member2 * scale, "bias": made.member2.T @ total}
    member2 = slope.T @ made.asked1 @ p["decode"] * scale + np.outer(total, p["bias"])
    member2 = member2 * (made.member2 > 0)
    asked1 = slope @ made.member2 @ p["decode"].T * scale * (made.asked1 > 0)
    g["member2"] = made.member1.T @ member2
    g["to_member2"] = (known.to_members.T @ made.known1).T @ member2
    known1 = known.to_members @ (member2 @ p["to_member2"].T) * (made.known1 > 0)
    g["query1"] = made.known0.T @ known1 + made.asked0.T @ asked1
    g["to_query1"] = (known.to_queries @ p["members"]).T @ known1
    member1 = member2 @ p["member2"].T * (made.member1 > 0)
    g["member1"] = p["members"].T @ member1
    g["to_member1"] = (known.to_members.T @ made.known0).T @ member1
    g["members"] = member1 @ p["member1"].T + known.to_queries.T @ (known1 @ p["to_query1"].T)
    known0 = known1 @ p["query1"].T + known.to_members @ (member1 @ p["to_member1"].T)
    known0, asked0 = known0 * (made.known0 > 0), asked1 @ p["query1"].T * (made.asked0 > 0)
    g["input"] = known.inputs.T @ known0 + asked.T @ asked0
    g["offset"] = known0.sum(axis=0) + asked0.sum(axis=0)
    return g


def _positive(values: Floats) -> Floats:
    return np.maximum(values, 0.0)
