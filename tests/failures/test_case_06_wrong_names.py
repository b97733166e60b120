"""A misspelt key, an unknown loop, entry or embedder: refused with line and nearest name, never substituted."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from evolve.campaign.config import read_campaign
from evolve.core.errors import UserError

GOOD = {
    "schema": 1,
    "name": "small",
    "goal": "more right answers",
    "harness": "harness",
    "data": {"cases": "cases.jsonl"},
    "scorer": {"kind": "exact"},
    "models": {"agent": {"model": "scripted:x"}},
    "budget": {"calls": 10},
}


def write(tmp_path: Path, **changes: object) -> Path:
    path = tmp_path / "campaign.yaml"
    path.write_text(yaml.safe_dump({**GOOD, **changes}, sort_keys=False))
    return path


def test_the_good_file_is_read(tmp_path: Path) -> None:
    assert read_campaign(write(tmp_path)).budget.calls == 10


@pytest.mark.parametrize(
    ("changes", "place", "hint"),
    [
        ({"portfolo": {}}, "campaign.yaml:14", "did you mean 'portfolio'"),
        ({"loops": {"harnes": {"rounds": 1}}}, "campaign.yaml:15", "did you mean 'harness'"),
        ({"loops": {"workflow": {"entries": ["nearset"]}}}, "campaign.yaml:16", "did you mean nearest"),
        ({"gate": {"alpa": 0.1}}, "campaign.yaml:15", "did you mean 'alpha'"),
        ({"portfolio": {"embedder": "qualty"}}, "campaign.yaml:15", "'quality'"),
        ({"loops": {"harness": {"batch": 0}}}, "campaign.yaml:16", "greater than or equal to 3"),
        ({"gate": {"repetitions": 0}}, "campaign.yaml:15", "greater than or equal to 1"),
        ({"goal": ""}, "campaign.yaml:3", "at least 1 character"),
        ({"budget": {}}, "campaign.yaml", "budget.calls or budget.usd"),
    ],
)
def test_a_wrong_name_is_refused_with_its_line_and_the_nearest_one(
    tmp_path: Path, changes: dict[str, object], place: str, hint: str
) -> None:
    with pytest.raises(UserError) as caught:
        read_campaign(write(tmp_path, **changes))
    assert place in str(caught.value)
    assert hint in str(caught.value)


def test_a_repeated_key_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_text(path.read_text() + "name: other\n")
    with pytest.raises(UserError, match="stands twice"):
        read_campaign(path)
