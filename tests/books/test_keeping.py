"""What the journal keeps of a call: by role, without secrets, and never a reply that is not what the model said."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evolve.books import Books, Caps, JournalModes, Owner, PriceBook
from evolve.core.errors import WorldError
from evolve.core.messages import Message, ModelRequest
from evolve.core.redact import Redactor
from evolve.models import open_model
from evolve.models.settings import ModelSettings
from evolve.store import Home

SECRET = "zq81-UNIQUE-hunter"
ASKED = ModelRequest((Message("user", f"my key is {SECRET}"),))
PLAIN = ModelRequest((Message("user", "hello"),))


def open_books(home: Home, **modes: object) -> Books:
    return Books(home, "c", Caps(calls=100), PriceBook(), JournalModes(**modes))  # type: ignore[arg-type]


async def ask(books: Books, request: ModelRequest, answer: Callable[[str], str], role: str = "agent") -> str:
    script = {"echo": lambda asked, _rng: answer(asked.messages[-1].content)}
    opened = open_model(ModelSettings(model="scripted:echo"), environment={}, scripted=script)
    owner = Owner("c", "loop", "tree", "case", 0, role)
    return (await books.model(opened.provider, owner).reply(request)).text


async def test_each_role_is_kept_as_its_own_mode_says(home: Home) -> None:
    books = open_books(home, roles={"agent": "hash", "judge": "off"})
    for role in ("agent", "judge", "proposer"):
        await ask(books, PLAIN, str.upper, role)
    rows = {row.role: row for row in home.journal.iter("c")}
    kept = {role: (row.has_reply, bool(row.request_hash)) for role, row in rows.items()}
    assert kept == {"agent": (False, True), "judge": (False, False), "proposer": (True, True)}
    assert home.journal.request(rows["agent"].id) is home.journal.request(rows["judge"].id) is None
    said = " ".join(books.notes())
    assert "hash for agent" in said
    assert "off for judge" in said
    assert "proposer" not in said


async def test_only_roles_that_keep_their_replies_are_replayed_after_a_restart(home: Home) -> None:
    first = open_books(home, roles={"agent": "hash"})
    assert await ask(first, PLAIN, lambda _: "one", "agent") == await ask(first, PLAIN, lambda _: "one", "proposer")
    again = open_books(home, roles={"agent": "hash"})
    assert await ask(again, PLAIN, lambda _: "two", "agent") == "two"
    assert await ask(again, PLAIN, lambda _: "two", "proposer") == "one"
    assert again.spend().calls == 3


async def test_the_model_hears_the_secret_and_the_journal_does_not(home: Home) -> None:
    home.learn_secrets(Redactor({SECRET: "DESK_KEY"}))
    books = open_books(home)
    assert await ask(books, ASKED, lambda text: f"you said: {text}") == f"you said: my key is {SECRET}"
    row = next(home.journal.iter("c"))
    assert row.request_hash == ASKED.request_hash
    assert home.journal.request(row.id)["messages"] == [["user", "my key is [redacted:DESK_KEY]"]]
    assert home.journal.reply(row.id)["text"] == "you said: my key is [redacted:DESK_KEY]"
    assert "kept redacted" in row.note


async def test_a_redacted_reply_is_never_replayed_and_the_notes_say_so(home: Home) -> None:
    home.learn_secrets(Redactor({SECRET: "DESK_KEY"}))
    await ask(open_books(home), ASKED, lambda text: text)
    again = open_books(home)
    assert "1 replies hold a secret" in " ".join(again.notes())
    assert await ask(again, ASKED, lambda _: "another answer") == "another answer"
    assert again.spend().calls == 2


async def test_a_secret_in_the_request_alone_does_not_keep_a_reply_from_being_replayed(home: Home) -> None:
    home.learn_secrets(Redactor({SECRET: "DESK_KEY"}))
    await ask(open_books(home), ASKED, lambda _: "fine")
    assert await ask(open_books(home), ASKED, lambda _: "another") == "fine"


async def test_the_note_of_a_failed_call_is_redacted(home: Home) -> None:
    home.learn_secrets(Redactor({SECRET: "DESK_KEY"}))

    def fail(text: str) -> str:
        raise WorldError(f"refused: {text}")

    books = open_books(home)
    with pytest.raises(WorldError, match=SECRET):
        await ask(books, ASKED, fail)
    home.database.group.close()
    assert next(home.journal.iter("c")).note == "WorldError: refused: my key is [redacted:DESK_KEY]"
