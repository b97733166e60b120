"""What a campaign was started with, so that a resume with something else is refused by name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from evolve import __version__
from evolve.campaign.config import CampaignConfig
from evolve.core.errors import UserError
from evolve.core.hashing import content_hash, short

MAY_CHANGE = {"budget", "approval", "journal"}
"""Sections that a person may change between a stop and a resume: they cannot change what is found."""

MAY_CHANGE_OF_MODELS = {"mailbox_requests", "timeout_seconds"}
"""Settings of a model that only say how long and how often it may be asked."""

SHOWN = 60
"""Values up to so many characters are kept and shown as they are, longer ones as their hash."""

ABSENT = "none"


def campaign_fingerprints(
    config: CampaignConfig, seed_tree: str, dataset_hash: str, identities: Mapping[str, str]
) -> dict[str, str]:
    """Name → value, or its hash where it is long, of everything that shapes a campaign's result."""
    sections = config.model_dump(mode="json", by_alias=True, exclude=MAY_CHANGE)
    prints = {f"campaign.yaml {name}": _print(value) for name, value in _leaves(sections, "") if not _may_change(name)}
    prints["seed harness"] = short(seed_tree)
    prints["cases"] = short(dataset_hash)
    prints["engine version"] = __version__
    prints.update({name: _print(identity) for name, identity in identities.items()})
    return prints


def _may_change(name: str) -> bool:
    return name.startswith("models.") and name.rpartition(".")[2] in MAY_CHANGE_OF_MODELS


def require_unchanged(stored: Mapping[str, str], now: Mapping[str, str], campaign: str) -> None:
    """UserError naming everything that differs, with what it was and what it is."""
    changed = [name for name in sorted({*stored, *now}) if stored.get(name, ABSENT) != now.get(name, ABSENT)]
    if changed:
        lines = [f"\n  {name}: {stored.get(name, ABSENT)} → {now.get(name, ABSENT)}" for name in changed]
        raise UserError(
            f"this campaign was started with something else:{''.join(lines)}",
            place=f"campaign:{campaign}",
            fix="put it back, or start a new campaign with `evolve run` without --resume",
        )


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Dotted key → value of every leaf; lists are leaves."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    else:
        yield name, value


def _print(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= SHOWN and text.isprintable() else f"hash {short(content_hash(value))}"
