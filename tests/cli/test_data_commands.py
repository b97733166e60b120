"""data import, show and renew as a person runs them, and heldout that stays hidden."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from evolve.store import open_home
from tests.e2e.conftest import make_rows, write_project

ROOT = Path(__file__).resolve().parents[2]


def evolve(cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    settings = {name: value for name, value in os.environ.items() if name != "EVOLVE_HOME"} | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "evolve.cli", *arguments]
    return subprocess.run(command, cwd=cwd, env=settings, capture_output=True, text=True, timeout=120)


def test_import_prints_a_section_that_works(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question,answer\n" + "".join(f"question {i},a{i}\n" for i in range(40)))
    done = evolve(tmp_path, "data", "import", "q.csv", "cases.jsonl")
    assert done.returncode == 0, done.stderr
    assert "40 cases" in done.stdout and "scorer: {kind: exact}" in done.stdout
    assert yaml.safe_load(done.stdout.split("In campaign.yaml:")[1].split("scorer:")[0]) == {
        "data": {"cases": "cases.jsonl"}
    }
    again = evolve(tmp_path, "data", "import", "q.csv", "cases.jsonl")
    assert again.returncode == 2 and "--force" in again.stderr
    assert evolve(tmp_path, "data", "import", "q.csv", "cases.jsonl", "--force").returncode == 0


def test_show_counts_and_hides_heldout(tmp_path: Path) -> None:
    project = write_project(tmp_path / "p", 120)
    done = evolve(project.folder, "data", "show", "campaign.yaml", "--json")
    document = json.loads(done.stdout)
    assert sum(split["cases"] for split in document["splits"].values()) == 120
    assert document["alpha_left"] == pytest.approx(0.05)
    assert not (project.folder / ".evolve").exists(), "looking makes no home"
    assert not any(row["input"] in done.stdout for row in project.rows)
    shown = evolve(project.folder, "data", "show", "campaign.yaml", "--split", "train")
    assert any(row["input"][:40] in shown.stdout for row in project.rows)
    assert evolve(project.folder, "data", "show", "campaign.yaml", "--split", "heldout").returncode == 2


def test_left_out_rows_are_told_by_check(tmp_path: Path) -> None:
    project = write_project(tmp_path / "p", 120)
    with (project.folder / "cases.jsonl").open("a") as file:
        file.write('{"id": "bad"}\n')
    config: Any = yaml.safe_load(project.campaign.read_text())
    project.edit(data={**config["data"], "skip_bad": True}, models={"agent": {"model": "local:smollm2-135m"}})
    done = evolve(project.folder, "check", "campaign.yaml")
    assert done.returncode == 0, done.stderr
    assert "left out: 1 bad rows" in done.stdout and "line 121" in done.stdout


def test_renew_seals_fresh_cases_and_retires_the_old_ones(tmp_path: Path) -> None:
    project = write_project(tmp_path / "p", 120)
    before = json.loads(evolve(project.folder, "data", "show", "campaign.yaml", "--json").stdout)
    fresh = [{**row, "id": f"n-{row['id']}", "input": f"New: {row['input']}"} for row in make_rows(30)]
    (project.folder / "fresh.jsonl").write_text("".join(json.dumps(row) + "\n" for row in fresh))
    done = evolve(project.folder, "data", "renew", "campaign.yaml", "fresh.jsonl")
    assert done.returncode == 0, done.stderr
    section = yaml.safe_load(done.stdout.split("old section:")[1])
    project.edit(**section)
    after = json.loads(evolve(project.folder, "data", "show", "campaign.yaml", "--json").stdout)
    sizes = {name: split["cases"] for name, split in before["splits"].items()}
    assert {name: split["cases"] for name, split in after["splits"].items()} == {
        "train": sizes["train"] + sizes["heldout"], "dev": sizes["dev"], "heldout": 30,
    }  # fmt: skip
    home = open_home(project.home)
    (row,) = home.ledger.rows("data:small")
    assert (row.kind, row.detail["fresh"], row.detail["retired"]) == ("data_renewed", 30, sizes["heldout"])
    home.close()
    again = evolve(project.folder, "data", "renew", "campaign.yaml", "fresh.jsonl")
    assert again.returncode == 2 and "not fresh" in again.stderr


def fresh_rows(project: Any, count: int = 30) -> str:
    rows = [{**row, "id": f"n-{row['id']}", "input": f"New: {row['input']}"} for row in make_rows(count)]
    (project.folder / "fresh.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "fresh.jsonl"


def test_import_tells_splits_tags_fingerprint_and_what_was_left_out(tmp_path: Path) -> None:
    rows = [f"question {n},a{n},{'x' if n % 4 else 'y'}\n" for n in range(40)]
    (tmp_path / "q.csv").write_text("question,answer,topic\n" + "".join(rows) + ",lost,x\n")
    refused = evolve(tmp_path, "data", "import", "q.csv", "cases.jsonl", "--tags", "topic")
    assert refused.returncode == 2 and "row 42: 'input' is empty" in refused.stderr
    assert not (tmp_path / "cases.jsonl").exists()
    done = evolve(tmp_path, "data", "import", "q.csv", "cases.jsonl", "--tags", "topic", "--skip-bad", "--json")
    document = json.loads(done.stdout)
    assert document["cases"] == sum(document["splits"].values()) == 40
    assert document["tags"] == {"topic=x": 30, "topic=y": 10}
    assert any("1 bad rows were left out" in note for note in document["notes"])
    shown = json.loads(evolve(tmp_path, "data", "show", "cases.jsonl", "--json").stdout)
    assert shown["splits"]["train"]["cases"] == document["splits"]["train"] and not shown["skipped"]


def test_an_unknown_format_is_named_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("input,expected\nq,a\n")
    done = evolve(tmp_path, "data", "import", "q.csv", "out.jsonl", "--format", "inspct")
    assert done.returncode == 2 and "did you mean inspect" in done.stderr


def test_a_file_alone_never_shows_texts_that_a_campaign_may_seal(tmp_path: Path) -> None:
    project = write_project(tmp_path / "p", 120)
    done = evolve(project.folder, "data", "show", "cases.jsonl", "--split", "train")
    assert done.returncode == 2 and "name the campaign" in done.stderr
    assert not any(row["input"] in done.stdout for row in project.rows)
    assert evolve(project.folder, "data", "show", "cases.jsonl").returncode == 0


def test_a_file_that_states_its_splits_is_shown_by_them(tmp_path: Path) -> None:
    rows = [{"input": f"{s} {n}", "expected": n, "split": s} for s in ("train", "dev", "heldout") for n in range(9)]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = evolve(tmp_path, "data", "show", "c.jsonl", "--split", "train")
    assert done.returncode == 0 and "'train 0'" in done.stdout and "heldout 0" not in done.stdout


def test_renew_writes_the_campaign_file_and_nothing_else_of_it_changes(tmp_path: Path) -> None:
    project = write_project(tmp_path / "p", 120)
    config: Any = yaml.safe_load(project.campaign.read_text())
    section = yaml.safe_dump({"data": config.pop("data")})
    text = f"# mine\n{yaml.safe_dump(config)}\n# cases\n{section}\n# the end\n"
    project.campaign.write_text(text)
    done = evolve(project.folder, "data", "renew", "campaign.yaml", fresh_rows(project), "--write", "--json")
    document = json.loads(done.stdout)
    new = project.campaign.read_text()
    assert new == text.replace(section, document["data"] + "\n")
    shown = json.loads(evolve(project.folder, "data", "show", "campaign.yaml", "--json").stdout)
    assert shown["fingerprint"] == document["to"] != document["from"]
    home = open_home(project.home)
    (row,) = home.ledger.rows("data:small")
    assert (row.detail["from"], row.detail["to"]) == (document["from"], document["to"])
    home.close()


def test_renew_refuses_cases_that_have_spent_error_budget(tmp_path: Path) -> None:
    from evolve.data import DataSettings, load_cases

    project = write_project(tmp_path / "p", 120)
    cases = load_cases(project.folder / fresh_rows(project), DataSettings(cases="fresh.jsonl")).cases
    home = open_home(project.home, create=True)
    home.alpha.reserve([cases[3].text_key], 0.01, budget=0.05, campaign="other", key="gate/other")
    home.close()
    done = evolve(project.folder, "data", "renew", "campaign.yaml", "fresh.jsonl")
    assert done.returncode == 2 and "1 cases were looked at before" in done.stderr
    assert [path.name for path in project.folder.glob("*.renewed*")] == []
