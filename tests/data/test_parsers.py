"""Whatever stands in a file, its parser reads it or refuses it by name; and every text survives the way through."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evolve.campaign.config import CampaignConfig
from evolve.core.errors import UserError
from evolve.core.yaml_document import parse_document
from evolve.data import DataSettings, load_cases
from evolve.data.importing import ImportOptions, import_cases

ONCE = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1).filter(str.strip)


@ONCE
@given(st.binary(max_size=300) | st.text(max_size=200).map(lambda t: t.encode("utf-8", "surrogatepass")))
@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".tsv"])
def test_any_bytes_are_cases_or_a_user_error(tmp_path: Path, suffix: str, data: bytes) -> None:
    path = tmp_path / f"cases{suffix}"
    path.write_bytes(data)
    for skip in (False, True):
        try:
            load_cases(path, DataSettings(cases=path.name, skip_bad=skip))
        except UserError as refusal:
            assert str(path) in str(refusal)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**25), 10**25) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@ONCE
@given(st.lists(st.dictionaries(st.sampled_from(["id", "input", "expected", "tags"]), VALUES), max_size=4))
def test_any_rows_are_cases_or_a_user_error(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    try:
        report = load_cases(path, DataSettings(cases=path.name, skip_bad=True))
    except UserError:
        return
    assert len(report.cases) + len(report.skipped) == len(rows)


@ONCE
@given(TEXTS)
def test_every_text_survives_loading_and_importing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"input": text, "expected": text}) + "\n")
    found = import_cases(path, tmp_path / "out.jsonl", ImportOptions())
    (case,) = load_cases(tmp_path / "out.jsonl", found.settings).cases
    assert (case.input, case.expected) == (text, text)


@ONCE
@given(st.text(max_size=200) | st.dictionaries(st.text(max_size=6), VALUES, max_size=4).map(json.dumps))
def test_any_yaml_is_a_campaign_or_a_user_error(text: str) -> None:
    with pytest.raises(UserError) as refusal:
        parse_document(text, CampaignConfig, "campaign.yaml")
    assert str(refusal.value).startswith("campaign.yaml")
