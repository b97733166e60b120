"""The `data:` section of a campaign file: as text, and put in place of the old one."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from evolve.campaign.config import CampaignConfig
from evolve.core.errors import UserError
from evolve.core.yaml_document import parse_document
from evolve.data import DataSettings
from evolve.data.write import write_whole

_TOP_KEY = re.compile(r"[^\s#\-\]}]")


def data_section(settings: DataSettings) -> str:
    """The section as YAML, without what is the default, and without an end of line."""
    document = {"data": settings.model_dump(mode="json", exclude_defaults=True)}
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True).rstrip()


def put_data_section(campaign: Path, settings: DataSettings) -> None:
    """Puts the section into the campaign file; everything outside of it keeps its bytes.

    UserError when the file cannot be rewritten so that it says just this; it is then left as it is.
    """
    text = campaign.read_bytes().decode("utf-8")
    new = with_data_section(text, data_section(settings))
    if new is None or parse_document(new, CampaignConfig, str(campaign)).data != settings:
        raise UserError(
            "its `data:` section cannot be replaced", place=str(campaign), fix="put the new section in by hand"
        )
    write_whole(campaign, new.encode("utf-8"))


def with_data_section(text: str, section: str) -> str | None:
    """The text with its top-level `data:` replaced; None when there is not exactly one."""
    lines = text.splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if re.match(r"""(\ufeff)?["']?data["']?\s*:""", line)]
    if len(starts) != 1:
        return None
    start = stop = starts[0]
    stop += 1
    while stop < len(lines) and not _TOP_KEY.match(lines[stop]):
        stop += 1
    while stop > start + 1 and (not lines[stop - 1].strip() or lines[stop - 1].startswith("#")):
        stop -= 1
    end = "\r\n" if lines[start].endswith("\r\n") else "\n"
    return "".join([*lines[:start], section.replace("\n", end) + end, *lines[stop:]])
