"""`evolve mailbox list|claim|answer` on a real home."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evolve.cli.main import main
from evolve.core.messages import Message, ModelRequest
from evolve.models.mailbox import Box
from evolve.models.mailbox.documents import request_document
from evolve.store import open_home

Run = Callable[..., tuple[int, str, str]]
SIZE = {"type": "object", "properties": {"size": {"enum": ["small", "large"]}}, "required": ["size"]}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / ".evolve"
    open_home(place, create=True).close()
    monkeypatch.setenv("EVOLVE_HOME", str(place))
    monkeypatch.setenv("LOGNAME", "ada")
    return place


@pytest.fixture
def evolve(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["evolve", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, err = capfd.readouterr()
        return code, out, err

    return run


def post(home: Path, campaign: str, id: str, age: int) -> Box:
    box = Box(home / "mailbox" / campaign / "coach")
    box.prepare()
    asked = ModelRequest((Message("user", f"Is an ant small? {id}"),), json_schema=SIZE, step="size")
    box.post(request_document(id, "coach", asked, datetime.now(UTC) - timedelta(seconds=age)))
    return box


def test_open_requests_of_all_campaigns_are_listed_oldest_first(home: Path, evolve: Run) -> None:
    assert evolve("mailbox", "list") == (0, "no open requests\n", "")
    post(home, "desk-1", "aaaa-1", 10)
    box = post(home, "desk-2", "bbbb-1", 100)
    box.reply_path("bbbb-1").write_text("{}")
    box.reject("bbbb-1", "no text")
    code, out, _ = evolve("mailbox", "list", "--json")
    rows = json.loads(out)
    assert code == 0
    assert [(row["id"], row["owner"], row["rejected"]) for row in rows] == [
        ("bbbb-1", "desk-2", "no text"),
        ("aaaa-1", "desk-1", None),
    ]
    assert rows[0]["age_seconds"] >= 100
    _, text, _ = evolve("mailbox", "list")
    assert text.index("bbbb-1") < text.index("aaaa-1")
    assert "no text" in text


def test_claims_and_answers_have_one_winner_and_tell_the_others(home: Path, evolve: Run, tmp_path: Path) -> None:
    post(home, "desk-1", "aaaa-1", 10)
    post(home, "desk-1", "bbbb-1", 100)
    code, out, _ = evolve("mailbox", "claim", "--as", "bob")
    assert code == 0
    assert json.loads(out)["id"] == "bbbb-1"
    claimed = json.loads(evolve("mailbox", "claim", "--minutes", "5", "--json")[1])
    assert claimed["request"]["id"] == "aaaa-1"
    assert claimed["claim"]["by"] == "ada"
    code, _, err = evolve("mailbox", "claim")
    assert (code, "no request is free" in err) == (2, True)
    code, _, err = evolve("mailbox", "claim", "bbbb", "--as", "eve")
    assert (code, "held by bob" in err) == (5, True)
    code, _, err = evolve("mailbox", "answer", "bbbb", "--plain", stdin=b'{"size": "small"}')
    assert (code, "held by bob" in err) == (5, True)

    reply = tmp_path / "reply.json"
    reply.write_text(json.dumps({"text": '{"size": "huge"}'}))
    code, _, err = evolve("mailbox", "answer", "bbbb-1", str(reply), "--as", "bob")
    assert (code, "$.size" in err) == (2, True)
    assert not Path(claimed["reply_path"]).exists()
    reply.write_text(json.dumps({"text": '{"size": "small"}'}))
    code, out, _ = evolve("mailbox", "answer", "bbbb", str(reply), "--as", "bob", "--json")
    assert (code, json.loads(out)["id"]) == (0, "bbbb-1")
    code, out, _ = evolve("mailbox", "answer", "aaaa", "--plain", stdin=b'{"size": "large"}\n')
    assert code == 0
    written = json.loads(Path(claimed["reply_path"]).read_bytes())
    assert written == {"text": '{"size": "large"}', "model": "ada"}
    code, _, err = evolve("mailbox", "answer", "bbbb-1", str(reply), "--as", "bob")
    assert (code, "somebody else was first" in err) == (5, True)
    assert json.loads(evolve("mailbox", "list", "--json")[1]) == []


def test_wrong_input_exits_two_and_names_the_fix(home: Path, evolve: Run) -> None:
    post(home, "desk-1", "aaaa-1", 10)
    post(home, "desk-1", "aaab-1", 10)
    for command, words in (
        (("answer", "aaa", "--plain"), "aaaa-1, aaab-1"),
        (("answer", "aaac-1", "--plain"), "did you mean"),
        (("answer", "../../etc", "--plain"), "there is no request"),
        (("answer", "", "--plain"), "there is no request"),
        (("answer", "aaaa-1", "nowhere.json"), "cannot be read"),
        (("answer", "aaaa-1"), "not whole JSON"),
        (("answer", "aaaa-1", "--plain"), "not UTF-8"),
    ):
        code, _, err = evolve("mailbox", *command, stdin=b"\xff" if "UTF-8" in words else b"")
        assert (code, words in err) == (2, True), (command, err)
