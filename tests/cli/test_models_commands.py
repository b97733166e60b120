"""`evolve models list`: what is said, and that nothing is connected, started or given away."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from evolve.books import PriceBook
from evolve.campaign.config import read_campaign
from evolve.models import known_providers
from evolve.report.models import local_rows, provider_lines, provider_rows, role_lines, role_rows
from tests.e2e.conftest import write_project

KEY = "sk-never-to-be-shown"


@pytest.fixture(autouse=True)
def no_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("it tried to connect or to start something")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)


def test_every_provider_says_what_it_needs_and_never_the_key() -> None:
    rows = {row["provider"]: row for row in provider_rows({"OPENAI_API_KEY": KEY})}
    assert tuple(sorted(rows)) == known_providers()
    assert rows["openai"]["key_set"] is True
    assert rows["anthropic"]["key_set"] is False
    assert rows["mailbox"]["key_set"] is None
    assert rows["mailbox"]["capabilities"] == ["chat", "json_schema", "tools"]
    assert "labels" in rows["openai"]["capabilities"]
    assert all(row["needs"] and row["price"] for row in rows.values())
    text = json.dumps(rows) + "\n".join(provider_lines(list(rows.values()), local_rows()))
    assert KEY not in text
    assert "NOT SET" in text


def test_local_models_say_whether_their_weights_are_here(monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = local_rows()
    assert row["present"]
    assert row["identity"].startswith("local:smollm2-135m@sha256:")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    (row,) = local_rows()
    assert not row["present"]
    assert "pip install" in row["fix"]
    assert "NOT HERE" in "\n".join(provider_lines([], [row]))


def resolved(folder: Path, environment: dict[str, str], **models: dict[str, Any]) -> dict[str, dict[str, Any]]:
    project = write_project(folder, 12)
    prices = {"mailbox:coach": {"input_per_million": "1.5", "output_per_million": "2"}}
    project.edit(models=models, budget={"calls": 5, "prices": prices})
    config = read_campaign(project.campaign)
    rows = role_rows(config.models, PriceBook(config.budget.prices), environment)
    assert KEY not in json.dumps(rows, default=str) + "\n".join(role_lines(rows))
    return {row["role"]: row for row in rows}


def test_the_roles_of_a_campaign_are_resolved_to_identity_price_capabilities_and_concurrency(tmp_path: Path) -> None:
    rows = resolved(
        tmp_path,
        {"OPENAI_API_KEY": KEY},
        agent={"model": "openai:gpt-4o-mini", "concurrency": 7},
        proposer={"model": "mailbox:coach"},
        judge={"model": "anthropic:claude-3-5-haiku-latest"},
        other={"model": "openai:mine", "base_url": "http://127.0.0.1:9/v1", "adaptive": False},
    )
    agent, coach, judge, other = (rows[role] for role in ("agent", "proposer", "judge", "other"))
    assert agent["identity"].startswith("openai:gpt-4o-mini@https://")
    assert float(agent["price"]["input_per_million"]) > 0
    assert agent["price"]["source"].startswith("genai-prices")
    assert (agent["concurrency"], agent["adaptive"], agent["problem"]) == (7, True, "")
    assert (coach["identity"], coach["timeout_seconds"]) == ("mailbox:coach", 3600)
    assert (coach["price"]["input_per_million"], coach["price"]["source"]) == ("1.5", "override")
    assert "ANTHROPIC_API_KEY" in judge["problem"]
    assert judge["identity"] is None
    assert "export ANTHROPIC_API_KEY" in judge["fix"]
    assert (other["price"]["source"], other["price"]["input_per_million"]) == ("unknown", None)
    assert other["adaptive"] is False
    text = "\n".join(role_lines(list(rows.values())))
    for words in ("CANNOT BE OPENED", "price unknown", "up to 7 calls at a time, lowered when refused"):
        assert words in text
    assert not (tmp_path / "any").exists()


def test_the_command_prints_the_roles_and_makes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    project = write_project(tmp_path, 12)
    project.edit(models={"agent": {"model": "mailbox:coach"}})
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = [sys.executable, "-m", "evolve.cli", "models", "list"]
    done = [
        subprocess.run(
            [*command, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        for arguments in ((str(project.campaign), "--json"), ("nowhere.yaml",))
    ]
    assert json.loads(done[0].stdout)["roles"][0]["identity"] == "mailbox:coach", done[0].stderr
    assert (done[1].returncode, "no such file" in done[1].stderr) == (2, True)
    assert list(tmp_path.glob(".evolve")) == []
