"""The order of catalog entries: shapes that fail most first, taking turns, so that a small budget covers them all."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from evolve.core.hashing import derive_seed
from evolve.core.messages import Capability
from evolve.core.protocols import Files
from harnesses.catalog.calculator import propose_calculator
from harnesses.catalog.constrained import propose_constrained
from harnesses.catalog.demonstrations import propose_demonstrations, propose_plain_demonstrations
from harnesses.catalog.labels import propose_labels
from harnesses.catalog.nearest import propose_nearest
from harnesses.catalog.occasion import Entry, Occasion
from harnesses.catalog.retry import propose_retry
from harnesses.catalog.self_consistency import propose_self_consistency
from harnesses.catalog.spans import propose_spans
from harnesses.catalog.tools import propose_tools
from harnesses.proposal import Proposal
from harnesses.shapes import Example, Shape, infer_shapes

ENTRIES: Mapping[str, Entry] = MappingProxyType(
    {
        "tools": propose_tools,
        "calculator": propose_calculator,
        "spans": propose_spans,
        "nearest": propose_nearest,
        "labels": propose_labels,
        "demonstrations": propose_demonstrations,
        "plain_demonstrations": propose_plain_demonstrations,
        "constrained": propose_constrained,
        "self_consistency": propose_self_consistency,
        "retry": propose_retry,
    }
)
"""Every entry by name, the most specific first: an entry that does not fit a shape proposes nothing."""


@dataclass(frozen=True, slots=True)
class CatalogSettings:
    """`exclude` holds (entry, shape name) pairs that were tried; the same seed gives the same proposals."""

    capabilities: frozenset[Capability]
    seed: int = 0
    limit: int = 8
    exclude: frozenset[tuple[str, str]] = frozenset()


def catalog_proposals(
    parent: Files, examples: Sequence[Example], *, failing_ids: Collection[str], settings: CatalogSettings
) -> list[Proposal]:
    """At most `limit` proposals, no two of them equal: the next fitting entry of each failing shape in turn.

    Every proposal is a whole tree that passes `check_harness`. Shapes without a failing example get none.
    """
    failing = frozenset(failing_ids)
    shapes = [shape for shape in infer_shapes(examples) if shape.case_ids & failing]
    shapes.sort(key=lambda shape: (-len(shape.case_ids & failing), shape.name))
    queues = [_proposals_of(parent, shape, failing, settings) for shape in shapes]
    found: list[Proposal] = []
    seen: set[str] = set()
    while queues and len(found) < settings.limit:
        for queue in list(queues):
            proposal = next(queue, None)
            if proposal is None:
                queues.remove(queue)
            elif proposal.normal_hash not in seen and len(found) < settings.limit:
                seen.add(proposal.normal_hash)
                found.append(proposal)
    return found


def _proposals_of(
    parent: Files, shape: Shape, failing: frozenset[str], settings: CatalogSettings
) -> Iterator[Proposal]:
    for name, entry in ENTRIES.items():
        if (name, shape.name) in settings.exclude:
            continue
        rng = random.Random(derive_seed(settings.seed, name, shape.name))
        proposal = entry(Occasion(parent, shape, failing, settings.capabilities, rng))
        if proposal is not None:
            yield proposal
