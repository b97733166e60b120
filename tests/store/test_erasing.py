"""Erased texts leave the bytes of the file; replaced ones keep their rows; trees are searched and never changed."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from evolve.core.errors import WorldError
from evolve.core.redact import Redactor
from evolve.store import Home
from evolve.store.compact import compact
from evolve.store.home import DATABASE

TEXT = 'an unmistakable text \\ "é" ' * 40


def raw(home: Home) -> bytes:
    return b"".join(p.read_bytes() for p in home.path.glob(f"{DATABASE}*"))


def test_a_replaced_string_leaves_row_and_file(home: Home) -> None:
    home.ledger.append("c", "note", "s", {"kept": "other", "said": ["x", TEXT]}, key="k")
    assert b"unmistakable" in raw(home)
    assert home.rewriter.rewrite_rows(lambda text: "unmistakable" in text, "[gone]") == {"ledger": 1}
    assert home.ledger.rows("c")[0].detail == {"kept": "other", "said": ["x", "[gone]"]}
    compact(home.path / DATABASE)
    assert b"unmistakable" not in raw(home)


def test_an_artifact_keeps_its_name_when_its_text_goes(home: Home) -> None:
    sha = home.artifacts.put_json({"text": TEXT})
    assert home.rewriter.rewrite_artifacts(lambda data: b"{}" if b"unmistakable" in data else None) == 1
    assert home.artifacts.get_json(sha) == {}


def test_a_compacted_file_is_smaller_by_what_was_deleted_from_it(home: Home) -> None:
    sha = home.artifacts.put(os.urandom(2_000_000))
    compact(home.path / DATABASE)
    home.rewriter.delete_artifacts([sha])
    assert compact(home.path / DATABASE) > 1_900_000
    assert (home.path / DATABASE).stat().st_size < 1_000_000


def test_a_reader_that_holds_the_log_open_is_told(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evolve.store.compact.BUSY_MILLISECONDS", 50)
    home.ledger.append("c", "note", "s", {"said": TEXT}, key="k")
    with closing(sqlite3.connect(home.path / DATABASE)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM ledger").fetchall()
        with pytest.raises(WorldError, match="process"):
            compact(home.path / DATABASE)


def test_no_file_is_made_where_there_is_none(tmp_path: Path) -> None:
    assert compact(tmp_path / "none.db") == 0
    assert not (tmp_path / "none.db").exists()


def test_trees_are_searched_by_content_and_by_path(home: Home) -> None:
    tree = home.trees.put({"a/b.md": TEXT.encode(), "c.md": b"other"})
    home.trees.put({"c.md": b"other"})
    assert home.trees.search(lambda data: b"unmistakable" in data) == {tree: ["a/b.md"]}


def test_secrets_are_redacted_by_every_store_that_takes_text(home: Home) -> None:
    home.learn_secrets(Redactor({"zq81-UNIQUE": "DESK_KEY"}))
    home.ledger.append("c", "note", "s", {"said": "zq81-UNIQUE"}, key="k")
    sha = home.artifacts.put_json(["zq81-UNIQUE"])
    assert home.ledger.rows("c")[0].detail == {"said": "[redacted:DESK_KEY]"}
    assert home.artifacts.get_json(sha) == ["[redacted:DESK_KEY]"]
    assert b"zq81-UNIQUE" not in raw(home)
