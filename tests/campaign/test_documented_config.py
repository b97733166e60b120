"""docs/campaign.md, the exported JSON schema and the shipped campaigns agree with the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from evolve.campaign.config import CampaignConfig, read_campaign
from evolve.core.yaml_document import parse_document

ROOT = Path(__file__).resolve().parents[2]


def test_the_documented_file_is_valid() -> None:
    text = (ROOT / "docs" / "campaign.md").read_text()
    block = re.search(r"```yaml\n(schema: 1.*?)```", text, re.S)
    assert block
    config = parse_document(block.group(1), CampaignConfig, "docs/campaign.md")
    assert config.portfolio.max_members == 5


def test_every_key_is_documented() -> None:
    text = (ROOT / "docs" / "campaign.md").read_text()
    keys = [name for name, field in CampaignConfig.model_fields.items() if name != "schema_"]
    assert [key for key in keys if not re.search(rf"^{key}:", text, re.M)] == []


@pytest.mark.parametrize("path", ["examples/desk/campaign.yaml", "examples/desk/campaign.scripted.yaml"])
def test_shipped_campaigns_are_valid(path: str) -> None:
    assert read_campaign(ROOT / path).name == "desk"


def test_the_exported_schema_is_current() -> None:
    exported = json.loads((ROOT / "docs" / "campaign.schema.json").read_text())
    assert exported == json.loads(json.dumps(CampaignConfig.model_json_schema()))
