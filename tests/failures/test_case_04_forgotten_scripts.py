"""Case 4: a query in any script is forgotten as surely as one in ASCII, and redaction leaves it byte-equal."""

from __future__ import annotations

import json
import sqlite3
import zlib
from contextlib import closing

import pytest

from evolve.books import Books, Caps, Owner, PriceBook
from evolve.campaign.forget import forget, sought_text
from evolve.core.messages import Message, ModelRequest
from evolve.core.redact import Redactor
from evolve.models import open_model
from evolve.models.settings import ModelSettings
from evolve.store import Home

TEXTS = [
    "emoji \U0001f469\u200d\U0001f4bb\U0001f3fd writes",
    "\u65e5\u672c\u8a9e\u306e\u8cea\u554f \u4e2d\u6587\u95ee\u9898",
    "e\u0301 is not \u00e9, they say",
    "line\u2028para\u2029next\x85end",
    "\u202e\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627\u202c!",
    'nul \x00 and \r\n crlf \\ "quoted" \\n',
    "lone \ud83d surrogate",
    "two hundred characters and more, " * 20,
]


def everything(home: Home) -> str:
    """All cells, unpacked, and all loose files: with JSON escapes undone, so that no spelling hides the text."""
    with closing(sqlite3.connect(home.path / "evolve.db")) as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        cells = [cell for table in tables for row in connection.execute(f"SELECT * FROM {table}") for cell in row]
    data = [cell if isinstance(cell, bytes) else str(cell).encode() for cell in cells]
    data += [zlib.decompress(cell[1:]) for cell in cells if isinstance(cell, bytes) and cell[:2] == b"\x01\x78"]
    data += [path.read_bytes() for path in home.path.rglob("*.json")]
    return b"\n".join(data).decode("utf-8", "surrogateescape")


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
async def test_a_query_in_any_script_is_forgotten_everywhere(home: Home, text: str) -> None:
    opened = open_model(
        ModelSettings(model="scripted:echo"),
        environment={},
        scripted={"echo": lambda request, _rng: f"said: {request.messages[-1].content}"},
    )
    for candidate, prompt in (("a", f"Answer: {text}"), ("b", f"DATA {json.dumps(text)}"), ("c", "another query")):
        owner = Owner("c", "loop", candidate, "case", 0, "agent")
        model = Books(home, "c", Caps(calls=9), PriceBook()).model(opened.provider, owner)
        await model.reply(ModelRequest((Message("user", prompt),)))
    home.ledger.append("c", "note", "s", {"said": text}, key="k")
    home.artifacts.put_json({"case": {"text": text[:200]}})
    (home.path / "mailbox.json").write_text(json.dumps({"prompt": text}), encoding="ascii")
    done = forget(home, sought_text(home, text), everything_else=False)
    assert done.places == {"calls": 2, "ledger": 1, "artifacts": 1, "files": 1}
    left = everything(home)
    head = text.strip()[:60]
    assert "another query" in left
    spellings = {head, json.dumps(head)[1:-1], json.dumps(json.dumps(head)[1:-1])[1:-1]}
    assert not [spelling for spelling in spellings if spelling in left]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_redaction_leaves_honest_text_of_any_script_as_it_is(text: str) -> None:
    redactor = Redactor.of({"DESK_KEY": "abcdefgh-1"})
    assert redactor.text(text) is text
    assert redactor.text(f"{text}abcdefgh-1{text}") == f"{text}[redacted:DESK_KEY]{text}"
