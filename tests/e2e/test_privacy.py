"""What a home must not hold: secrets, forgotten queries, and texts that the journal keeps nothing of."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from evolve.campaign.forget import forget, sought_route, sought_text
from evolve.campaign.retention import collect_garbage
from evolve.campaign.route import Wishes, route_once, version_journal
from evolve.campaign.run import load_inputs, start_campaign
from evolve.cli.main import app
from evolve.cli.progress import Progress
from evolve.core.errors import UserError, WorldError
from evolve.core.messages import ModelRequest
from evolve.core.redact import Redactor
from evolve.embed import open_embedder
from evolve.report.story import campaign_story, story_lines
from evolve.run.answer import open_version
from evolve.store import Home, open_home
from portfolios.portfolio import parse_content

from .conftest import write_project

ROOT = Path(__file__).resolve().parents[2]
SECRET = "zq81-UNIQUE-hunter-77aa"
QUERY = "Where is the parcel of Ottilie Quastenberg-Marlow, number 4711-X?"


def everything_in(folder: Path) -> bytes:
    """Every byte of every file, and what deflated bodies and git objects say when they are unpacked."""
    found = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        data = path.read_bytes()
        found.append(data)
        if "objects" in path.parts:
            found.append(zlib.decompress(data))
        if path.suffix == ".db":
            with closing(sqlite3.connect(path)) as connection:
                tables = [r[0] for r in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
                cells = [c for t in tables for row in connection.execute(f"SELECT * FROM {t}") for c in row]
            found += [c if isinstance(c, bytes) else str(c).encode() for c in cells]
            found += [zlib.decompress(c[1:]) for c in cells if isinstance(c, bytes) and c[:2] == b"\x01\x78"]
    return b"\n".join(found)


def scripts(project: Any, doubt: str = "no idea") -> dict[str, Any]:
    """The project's agent, which answers strange queries too and repeats them; `doubt` is what it says when wrong."""
    desk = project.scripts()["desk"]

    def agent(request: ModelRequest, rng: random.Random) -> str:
        answer = desk(request, rng)
        if answer == "?":
            return json.dumps({"team": "shipping", "about": request.messages[-1].content})
        return answer.replace("no idea", doubt)

    return {"desk": agent}


def run(project: Any, home: Home, environment: dict[str, str] | None = None, script: Any = None) -> Any:
    inputs = load_inputs(project.campaign, environment or {}, script or scripts(project))
    with Progress(redactor=inputs.redactor) as progress:
        return asyncio.run(start_campaign(inputs, home, progress.observe, path=project.campaign))


@pytest.fixture
def home(project: Any) -> Iterator[Home]:
    opened = open_home(project.home, create=True)
    yield opened
    opened.close()


def small(project: Any, **changes: Any) -> None:
    """A campaign of a few hundred calls."""
    loops = {"harness": {"rounds": 1, "proposals": 2, "batch": 8}}
    project.edit(loops=loops, gate={"alpha": 0.05, "max_cases": 12}, **changes)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A project whose small campaign has run once."""
    project = write_project(tmp_path_factory.mktemp("finished") / "desk")
    small(project)
    with closing(open_home(project.home, create=True)) as home:
        run(project, home)
    return project


@pytest.fixture
def after(finished: Any, tmp_path: Path) -> Any:
    """A copy of it that a test may change."""
    return type(finished)(Path(shutil.copytree(finished.folder, tmp_path / "desk")), finished.rows)


@pytest.fixture
def served(after: Any) -> Iterator[Home]:
    """The home of that copy."""
    opened = open_home(after.home)
    yield opened
    opened.close()


def test_a_secret_that_a_model_echoes_is_in_no_file_of_the_home_and_in_no_output(
    project: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """The agent echoes it in its answers, the proposer in a hypothesis, in a file and in an error."""
    small(project)
    project.edit(
        models={"agent": {"model": "scripted:desk"}, "proposer": {"model": "scripted:leaky"}},
        loops={
            "harness": {
                "rounds": 2, "proposals": 4, "batch": 8, "proposers": ["catalog", "model"], "model_proposals": 3,
            }
        },
    )  # fmt: skip
    desk, shown = project.scripts()["desk"], []

    def agent(request: ModelRequest, rng: random.Random) -> str:
        answer = desk(request, rng)
        return answer if request.labels or rng.random() < 0.5 else f'{{"total": 0, "note": "{SECRET}"}}'

    def leaky(request: ModelRequest, rng: random.Random) -> str:
        shown.append(request.messages[-1].content)
        edit = {"path": "prompts/answer.md", "content": f"Answer as JSON, number {rng.random()}.\n{{input}}\n"}
        if rng.random() < 0.4:
            edit["content"] += SECRET
        words = {name: f"because of {SECRET}" for name in ("cause", "lever", "predicted_effect", "refuted_by")}
        return json.dumps({**words, "edits": [edit]}) if rng.random() < 0.8 else f"prose {SECRET}"

    home = open_home(project.home, create=True)
    outcome = run(project, home, {"DESK_API_KEY": SECRET}, {"desk": agent, "leaky": leaky})
    rows = [row.detail for row in home.ledger.rows(outcome.campaign, "proposal")]
    assert any("[redacted:DESK_API_KEY]" in str(row) for row in rows)
    assert any(row.get("kind") == "secret" for row in rows)
    assert shown
    assert not any(SECRET in prompt for prompt in shown)
    assert any("[redacted:DESK_API_KEY]" in prompt for prompt in shown)
    home.close()
    kept = everything_in(project.home)
    assert b"[redacted:DESK_API_KEY]" in kept
    assert SECRET.encode() not in kept
    output = capfd.readouterr()
    assert "proposal" in output.err or "rejected" in output.err or "refused" in output.err
    assert SECRET not in output.out + output.err


@pytest.mark.parametrize("mode", ["off", "hash"])
def test_a_journal_that_keeps_no_text_leaves_none_of_cases_answers_and_queries(
    project: Any, home: Home, mode: str
) -> None:
    small(project, journal=False if mode == "off" else mode)
    script = scripts(project, "I have Unmistakable Doubts")
    outcome = run(project, home, script=script)
    routed = route_once(home, None, QUERY, {}, script)
    assert routed.journal == mode
    spent = campaign_story(home, outcome.campaign)["spend"]
    assert sum(row["calls"] for row in spent.values()) > 100
    home.close()
    shown = b"".join(p.read_bytes() for p in project.home.rglob("*.jsonl"))
    kept = everything_in(project.home)
    assert b"Quastenberg" not in kept + shown
    assert b"Unmistakable" not in kept
    with closing(sqlite3.connect(project.home / "evolve.db")) as connection:
        cells = [c for t in ("calls", "call_ends", "results", "artifacts", "ledger") for r in
                 connection.execute(f"SELECT * FROM {t}") for c in r]  # fmt: skip
    texts = [row["input"].encode() for row in project.rows]
    stored = b"\n".join(c if isinstance(c, bytes) else str(c).encode() for c in cells)
    stored += b"\n".join(zlib.decompress(c[1:]) for c in cells if isinstance(c, bytes) and c[:2] == b"\x01\x78")
    assert not any(text in stored for text in texts)


def test_an_error_that_stops_a_campaign_leaves_its_text_in_no_checkpoint(project: Any, home: Home) -> None:
    small(project, journal={"default": "hash"})

    def agent(request: ModelRequest, rng: random.Random) -> str:
        raise WorldError(f"the provider of {SECRET} says Unmistakable to {request.messages[-1].content}", passing=False)

    with pytest.raises(WorldError, match="Unmistakable") as told:
        run(project, home, {"DESK_API_KEY": SECRET}, {"desk": agent})
    assert "[redacted:DESK_API_KEY]" in str(told.value)
    assert (home.path / "checkpoints.db").exists()
    assert b"Unmistakable" not in everything_in(home.path)


def test_a_version_whose_table_holds_no_texts_routes_like_one_that_holds_them(
    project: Any, home: Home, served: Home
) -> None:
    small(project, journal={"default": "full", "roles": {"agent": "hash"}})
    run(project, home)
    assert version_journal(home, "small", 2).modes.of("agent") == "hash"
    texts, embedder = [row["input"] for row in project.rows[:80]], open_embedder("fast")
    masked, plain = (
        open_version(place, parse_content(place.versions.get("small", 2).content), embedder).decide_many(
            texts, embedder.embed(texts)
        )
        for place in (home, served)
    )
    assert [(d.rule, d.member) for d in masked] == [(d.rule, d.member) for d in plain]
    assert sum(d.rule == "matcher" for d in plain) > 70


@pytest.mark.parametrize("keeps", [True, False], ids=["redacted", "hash"])
def test_what_a_proposer_says_in_a_refused_patch_is_in_no_ledger_row_and_no_checkpoint(
    project: Any, home: Home, keeps: bool
) -> None:
    loop = {"rounds": 1, "proposals": 1, "batch": 8, "proposers": ["model"]}
    models = {"agent": {"model": "scripted:desk"}, "proposer": {"model": "scripted:says"}}
    project.edit(models=models, loops={"harness": loop}, journal={"roles": {} if keeps else {"proposer": "hash"}})
    edit = {"path": f"../{SECRET}.md", "content": "x"}
    words = dict.fromkeys(("cause", "lever", "predicted_effect", "refuted_by"), SECRET)
    script = {**scripts(project), "says": lambda _request, _rng: json.dumps({**words, "edits": [edit]})}
    outcome = run(project, home, {"DESK_API_KEY": SECRET} if keeps else {}, script)
    assert outcome.state["stalled"]
    (row,) = home.ledger.rows(outcome.campaign, "proposal")
    assert ("[redacted:DESK_API_KEY]" if keeps else "[not kept: journal: hash]") in row.detail["reason"]
    assert SECRET.encode() not in everything_in(home.path)


def test_a_query_is_forgotten_in_checkpoints_too_and_the_campaign_still_reads(project: Any, home: Home) -> None:
    loop = {"rounds": 1, "proposals": 1, "batch": 8, "proposers": ["model"]}
    models = {"agent": {"model": "scripted:desk"}, "proposer": {"model": "scripted:says"}}
    project.edit(models=models, loops={"harness": loop})
    edit = {"path": f"../{QUERY}.md", "content": "x"}
    words = dict.fromkeys(("cause", "lever", "predicted_effect", "refuted_by"), "because")
    script = {**scripts(project), "says": lambda _request, _rng: json.dumps({**words, "edits": [edit]})}
    outcome = run(project, home, script=script)
    assert "Quastenberg" in outcome.state["stalled"]
    done = forget(home, sought_text(home, QUERY), everything_else=False)
    assert done.places["checkpoints"] >= 1
    assert b"Quastenberg" not in everything_in(home.path)
    assert "[forgotten]" in "\n".join(story_lines(campaign_story(home, outcome.campaign)))


def test_no_line_of_progress_shows_a_secret(capfd: pytest.CaptureFixture[str]) -> None:
    with Progress(redactor=Redactor({SECRET: "DESK_API_KEY"})) as progress:
        progress.observe("note", text=f"it is {SECRET}")
    shown = capfd.readouterr().err
    assert "[redacted:DESK_API_KEY]" in shown
    assert SECRET not in shown


def test_an_error_printed_by_the_command_line_shows_no_secret(after: Any) -> None:
    settings = {k: v for k, v in os.environ.items() if k != "EVOLVE_HOME"}
    settings |= {"PYTHONPATH": str(ROOT), "DESK_API_KEY": SECRET}
    command = [sys.executable, "-m", "evolve.cli", "portfolio", "show", SECRET, "--json"]
    done = subprocess.run(command, cwd=after.folder, env=settings, capture_output=True, check=False, timeout=60)
    assert done.returncode == 2
    assert b"[redacted:DESK_API_KEY]" in done.stderr
    assert SECRET.encode() not in done.stdout + done.stderr


def test_route_keeps_what_its_option_says_whatever_the_campaign_keeps(after: Any, served: Home) -> None:
    route_once(served, None, QUERY, {}, scripts(after), Wishes(journal="off"))
    assert QUERY.encode() not in everything_in(after.home)
    route_once(served, None, QUERY, {}, scripts(after))
    assert QUERY.encode() in everything_in(after.home)


def test_a_forgotten_query_is_in_no_byte_of_the_home_while_rows_and_sums_stay(after: Any, served: Home) -> None:
    routed = route_once(served, None, QUERY, {}, scripts(after))
    route_once(served, None, QUERY, {}, scripts(after))
    served.ledger.append("x", "note", "somebody", {"said": f"look at this: {QUERY}"}, key="x")
    served.artifacts.put_json({"c1": {"text": QUERY, "score": 1.0}})
    (served.path / "mailbox").mkdir()
    (served.path / "mailbox" / "request.json").write_text(f'{{"prompt": "{QUERY}"}}')
    owner = next(o for o in served.eraser.call_owners() if o.endswith(routed.id))
    before = [row.spend for row in served.journal.iter(owner)]
    done = forget(served, sought_text(served, QUERY), everything_else=False)
    assert done.places["calls"] >= 2
    assert {"ledger", "artifacts", "files"} <= done.places.keys()
    assert [row.spend for row in served.journal.iter(owner)] == before
    assert all("forgotten" in row.note for row in served.journal.iter(owner))
    raw = b"".join(p.read_bytes() for p in served.path.rglob("*") if p.is_file())
    assert QUERY.encode() not in raw
    assert b"Quastenberg" not in everything_in(served.path)
    assert forget(served, sought_text(served, QUERY), everything_else=False).places == {}


def test_a_routed_query_is_forgotten_by_its_id_and_the_others_stay(after: Any, served: Home) -> None:
    gone = route_once(served, None, QUERY, {}, scripts(after))
    route_once(served, None, "Where is my other parcel, please?", {}, scripts(after))
    assert forget(served, sought_route(served, gone.id), everything_else=False).places["calls"] >= 1
    kept = everything_in(served.path)
    assert b"Quastenberg" not in kept
    assert b"Where is my other parcel" in kept
    assert forget(served, sought_route(served, gone.id), everything_else=False).places == {}
    with pytest.raises(UserError, match="no routed query"):
        sought_route(served, "nonesuch")


def test_a_case_that_a_tree_carries_is_named_and_only_forgotten_elsewhere_on_request(project: Any, home: Home) -> None:
    project.edit(loops={"harness": {"rounds": 1, "proposals": 4, "batch": 16}})
    run(project, home)
    tree = next(
        t
        for t in home.versions.get("small", 2).content["members"]
        if "demonstrations" in str(home.trees.get(t["tree"]).keys())
    )
    demos = b"".join(v for k, v in home.trees.get(tree["tree"]).items() if k.startswith("demonstrations/"))
    text = next(row["input"] for row in project.rows if row["input"].encode() in demos)
    before = everything_in(home.path).count(text.encode())
    with pytest.raises(UserError, match="small@2/") as refused:
        forget(home, sought_text(home, text), everything_else=False)
    assert "--everything-else" in str(refused.value)
    assert everything_in(home.path).count(text.encode()) == before
    done = forget(home, sought_text(home, text), everything_else=True)
    assert any(name.startswith("small@2/") for name in done.carried)
    with closing(sqlite3.connect(home.path / "evolve.db")) as connection:
        rows = connection.execute("SELECT request FROM calls WHERE request IS NOT NULL").fetchall()
    assert not any(text.encode() in (zlib.decompress(r[0][1:]) if r[0][:1] == b"\x01" else r[0]) for r in rows)
    route_once(home, "small", project.rows[1]["input"], {}, scripts(project))


def test_nothing_is_forgotten_while_a_campaign_runs_here(project: Any, home: Home) -> None:
    home.campaigns.create("small-1", {}, {})
    with home.campaigns.lock("small-1"), pytest.raises(UserError, match="running in process"):
        forget(home, sought_text(home, QUERY), everything_else=False)


def test_a_short_text_is_refused(home: Home) -> None:
    with pytest.raises(UserError, match="occurs in too many"):
        sought_text(home, " hi ")


def test_gc_removes_what_is_older_than_its_campaign_keeps_it_and_the_books_stay(project: Any) -> None:
    clock = [datetime(2026, 1, 1, tzinfo=UTC)]
    home = open_home(project.home, create=True, clock=lambda: clock[0])
    small(project, journal={"keep_days": 30})
    outcome = run(project, home)
    route_once(home, None, QUERY, {}, scripts(project))
    loose = home.artifacts.put(b"nobody knows me")
    story = campaign_story(home, outcome.campaign)
    assert not any(row.count for row in collect_garbage(home, dry_run=False).removed)
    clock[0] += timedelta(days=31)
    before = everything_in(home.path)
    planned = collect_garbage(home, dry_run=True)
    assert everything_in(home.path) == before
    with home.campaigns.lock(outcome.campaign):
        left = collect_garbage(home, dry_run=False)
        # Routed queries are nobody's run: theirs go.
        assert "is running: left alone" in left.notes[0]
        assert home.journal.reply(next(home.journal.iter(outcome.campaign)).id)
    done = collect_garbage(home, dry_run=False)
    counts = {row.what: row.count for row in done.removed}
    assert counts["traces"] == {row.what: row.count for row in planned.removed}["traces"] > 50
    assert counts["artifacts that nothing refers to"] >= 1
    assert done.shrunk > 0
    with pytest.raises(UserError):
        home.artifacts.get(loose)
    assert campaign_story(home, outcome.campaign) == story
    for row in home.journal.iter(outcome.campaign):
        assert (row.has_reply, row.request_hash == "") == (False, False)
        assert home.journal.request(row.id) is None
    assert QUERY.encode() not in everything_in(home.path)
    routed = route_once(home, None, project.rows[1]["input"], {}, scripts(project))
    assert routed.version
    assert not any(row.count for row in collect_garbage(home, dry_run=True).removed if "call" in row.what)
    home.close()


def test_the_commands_say_what_they_did_and_exit_two_for_wrong_input(
    after: Any, served: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    route_once(served, None, QUERY, {}, scripts(after))
    served.close()

    def evolve(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "evolve.cli", *arguments]
        settings = {k: v for k, v in os.environ.items() if k != "EVOLVE_HOME"} | {"PYTHONPATH": str(ROOT)}
        return subprocess.run(command, cwd=after.folder, env=settings, capture_output=True, check=False, timeout=60)

    done = evolve("forget", QUERY)
    assert (done.returncode, b"forgotten in" in done.stdout) == (0, True), done.stderr
    refused = evolve("forget", "hi")
    assert (refused.returncode, b"--id" in refused.stderr) == (2, True)
    monkeypatch.setenv("EVOLVE_HOME", str(after.home))
    runner = CliRunner()
    assert "nothing of it is kept" in runner.invoke(app, ["forget", QUERY]).stdout
    assert "would remove 0" in runner.invoke(app, ["gc", "--dry-run"]).stdout
    assert json.loads(runner.invoke(app, ["gc", "--json"]).stdout)["dry_run"] is False
    assert isinstance(runner.invoke(app, ["forget"]).exception, UserError)
    wrong = runner.invoke(app, ["route", "hello there", "--journal", "secretly"]).exception
    assert "full, hash, off" in str(wrong)


def test_an_unknown_role_in_the_journal_is_refused_with_the_nearest_name(project: Any) -> None:
    project.edit(journal={"roles": {"agnet": "off"}})
    with pytest.raises(UserError, match=r"journal\.roles\.agnet.*did you mean agent"):
        load_inputs(project.campaign, {})
    project.edit(journal={"keep_dys": 3})
    with pytest.raises(UserError) as refused:
        load_inputs(project.campaign, {})
    assert "keep_days" in str(refused.value)
    assert yaml.safe_load("journal: off") == {"journal": False}
    for value in (False, {"default": False}, {"roles": {"agent": False}}):
        project.edit(journal=value)
        assert load_inputs(project.campaign, {}).config.journal.modes.of("agent") == "off"
