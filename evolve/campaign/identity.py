"""What a campaign was started with, so that a resume with something else is refused by name."""

from __future__ import annotations

from collections.abc import Mapping

from evolve import __version__
from evolve.campaign.config import CampaignConfig
from evolve.core.errors import UserError
from evolve.core.hashing import content_hash, short

MAY_CHANGE = {"budget", "approval", "journal"}
"""Sections that a person may change between a stop and a resume: they cannot change what is found."""


def campaign_fingerprints(
    config: CampaignConfig, seed_tree: str, dataset_hash: str, identities: Mapping[str, str]
) -> dict[str, str]:
    """Name → hash of everything that shapes a campaign's result."""
    sections = config.model_dump(mode="json", by_alias=True, exclude=MAY_CHANGE)
    prints = {f"campaign.yaml {name}": content_hash(value) for name, value in sections.items()}
    prints["seed harness"] = seed_tree
    prints["cases"] = dataset_hash
    prints["engine version"] = __version__
    prints.update({name: content_hash(identity) for name, identity in identities.items()})
    return prints


def require_unchanged(stored: Mapping[str, str], now: Mapping[str, str], campaign: str) -> None:
    """UserError naming every fingerprint that differs."""
    changed = [name for name in sorted({*stored, *now}) if stored.get(name) != now.get(name)]
    if changed:
        detail = ", ".join(f"{n} ({short(stored.get(n, 'none'))} → {short(now.get(n, 'none'))})" for n in changed)
        raise UserError(
            f"this campaign was started with something else: {detail}",
            place=f"campaign:{campaign}",
            fix="put it back, or start a new campaign with `evolve run` without --resume",
        )
