"""Matchers by name: one file each behind one protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from evolve.core.names import nearest
from portfolios.matchers.best_single import BestSingle, find_best_single
from portfolios.matchers.factor import Factor
from portfolios.matchers.family import Family, Shares
from portfolios.matchers.graph import Graph
from portfolios.matchers.knn import KNN
from portfolios.matchers.known import Known
from portfolios.matchers.linear import Linear
from portfolios.matchers.protocol import FittedMatcher, Matcher, Prediction
from portfolios.matchers.stack import Stack

MATCHERS: Mapping[str, Callable[..., Matcher]] = MappingProxyType(
    {
        "best_single": BestSingle,
        "knn": KNN,
        "linear": Linear,
        "family": Family,
        "shares": Shares,
        "factor": Factor,
        "graph": Graph,
        "stack": Stack,
    }
)

__all__ = [
    "KNN",
    "MATCHERS",
    "BestSingle",
    "Factor",
    "Family",
    "FittedMatcher",
    "Graph",
    "Known",
    "Linear",
    "Matcher",
    "Prediction",
    "Shares",
    "Stack",
    "find_best_single",
    "open_matcher",
]


def open_matcher(name: str, settings: Mapping[str, JSONValue] | None = None) -> Matcher:
    """The matcher of this name; UserError with the nearest name, or with the settings it knows."""
    settings = settings or {}
    if name not in MATCHERS:
        near = nearest(name, MATCHERS, cutoff=0.6)
        hint = f"did you mean {near}?" if near else f"known matchers: {', '.join(MATCHERS)}"
        raise UserError(f"there is no matcher named {name!r}", place="matcher", fix=hint)
    known = MATCHERS[name]().settings
    for key, value in settings.items():
        if key not in known or isinstance(value, bool) or not isinstance(value, int | float):
            fix = f"numbers: {', '.join(known) or 'none'}"
            raise UserError(f"{key}: {value!r} is no setting of matcher {name}", place="matcher", fix=fix)
    return MATCHERS[name](**settings)
