"""Case 4: emoji, CJK, combining marks, U+2028, right-to-left text: byte-equal through every store under LANG=C."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]

ROUND_TRIP = r"""
import asyncio, sys
from pathlib import Path
from evolve.books import Books, Caps, Owner, PriceBook
from evolve.core.messages import Message, ModelReply, ModelRequest, Usage
from evolve.core.scores import Result, Score
from evolve.core.traces import RunStatus
from evolve.store import NewVersion, StoredResult, open_home

TEXTS = [
    "emoji \U0001F469\u200d\U0001F4BB\U0001F3FD",
    "\u65e5\u672c\u8a9e \u4e2d\u6587",
    "e\u0301 is not \u00e9",
    "line\u2028para\u2029next\x85",
    "\u202e\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627\u202c",
    "\ufeffbom \x00 nul \r\n crlf",
    "lone \ud83d surrogate",
]

class Echo:
    identity, capabilities = "scripted:echo", frozenset()
    async def reply(self, request):
        return ModelReply(request.messages[0].content, Usage(1, 1))
    async def close(self): ...

def check(before, after):
    assert before == after, (ascii(before), ascii(after))

async def calls(home, text):
    books = Books(home, "c", Caps(), PriceBook())
    request = ModelRequest((Message("user", text),))
    for attempt in ("paid", "replayed"):
        reply = await books.model(Echo(), Owner("c", "l", "t", "case", 0, "agent")).reply(request)
        check(text, reply.text)
    row = list(home.journal.iter("c"))[-1]
    check([["user", text]], home.journal.request(row.id)["messages"])

path = Path(sys.argv[1])
for number, text in enumerate(TEXTS):
    key, valid = str(number), "\ud83d" not in text
    name = f"prompts/{number}.md"
    home = open_home(path, create=True)
    data = text.encode("utf-8", "surrogatepass")
    tree = home.trees.put({name: data})
    home.ledger.append("c", "note", key, {text: [text]}, key=key)
    version = home.versions.commit_and_move(
        NewVersion("desk" + key, {"prompt": text}, {"why": text}, None, key, key), expected=None)
    sha = home.artifacts.put_json({"text": text})
    home.campaigns.create(key, {"goal": text}, {})
    result = Result(text, 0, RunStatus.FINISHED, Score.graded(1.0, text))
    home.results.put(StoredResult(key, tree, "train", "f", 0, {"output": text}, result))
    asyncio.run(calls(home, text))
    if valid:
        spaced = text.replace("\x00", "").replace("\\", "")
        check({spaced + ".md": data}, home.trees.get(home.trees.put({spaced + ".md": data})))
        if "\x00" not in text:
            commit = home.trees.commit(tree, ref="refs/heads/b" + key, message=text, parents=[])
            check(commit, home.trees.commit(tree, ref="refs/heads/b" + key, message=text, parents=[]))
    home.close()

    home = open_home(path)
    check({name: data}, home.trees.get(tree))
    check({text: [text]}, home.ledger.rows("c")[-1].detail)
    check(version, home.versions.get("desk" + key, 1))
    check({"text": text}, home.artifacts.get_json(sha))
    check({"goal": text}, home.campaigns.get(key).config)
    check(({"output": text}, result), (home.results.get(key).trace, home.results.get(key).result))
    home.close()
print("all equal")
"""


@pytest.mark.parametrize(
    "settings",
    [{"LANG": "C"}, {"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
    ids=["LANG=C", "LC_ALL=C", "ascii"],
)
def test_text_is_byte_equal_through_every_store(tmp_path: Path, settings: dict[str, str]) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("LANG", "LC_", "PYTHON"))}
    done = subprocess.run(
        [sys.executable, "-c", ROUND_TRIP, str(tmp_path / "home")],
        cwd=PROJECT,
        env={**environment, **settings},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "all equal\n", done.stderr
