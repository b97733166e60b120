"""The files that a campaign was started from, kept in the home so that it can be replayed when they have changed."""

from __future__ import annotations

from pathlib import Path

from evolve.campaign.context import CampaignInputs
from evolve.evaluate.scorers.custom import CustomOptions
from evolve.store import Home

CAMPAIGN_FILE, CASES_FILE, SCORER_FILE = "campaign", "cases", "scorer"
LARGEST = 64 * 2**20
"""Bytes of a file that is still kept."""


def keep_sources(inputs: CampaignInputs, home: Home, path: Path) -> dict[str, dict[str, str]]:
    """Stores each file once, by content. Role → {name, sha}; a file that is too large, or a folder, is left out.

    Nothing is kept of a campaign that keeps no texts of its calls: it could not be replayed.
    """
    if inputs.config.journal.of_text(inputs.config.models) != "full":
        return {}
    found: dict[str, dict[str, str]] = {}
    for role, file in source_files(inputs, path).items():
        if file.is_file() and file.stat().st_size <= LARGEST:
            found[role] = {"name": file.name, "sha": home.artifacts.put(file.read_bytes())}
    return found


def source_files(inputs: CampaignInputs, path: Path) -> dict[str, Path]:
    """The campaign file, its cases and, where there is one, its scorer with the files that it names."""
    config = inputs.config
    files = {CAMPAIGN_FILE: path, CASES_FILE: inputs.root / config.data.cases}
    if isinstance(config.scorer, CustomOptions):
        files[SCORER_FILE] = inputs.root / config.scorer.path
        files |= {f"{SCORER_FILE}:{name}": inputs.root / name for name in config.scorer.files}
    return files
