"""Commands for whoever answers a mailbox: list, claim, answer."""

from __future__ import annotations

import getpass
import json
import os
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from evolve.cli.output import JsonFlag, emit

mailbox = typer.Typer(no_args_is_help=True, help="Answer the requests of `mailbox:NAME` models.")

Who = Annotated[str | None, typer.Option("--as", help="Who answers; your login name when left out.")]


def register(app: typer.Typer) -> None:
    """Adds the command group."""
    app.add_typer(mailbox, name="mailbox")


@mailbox.command("list")
def list_(json_: JsonFlag = False) -> None:
    """All open requests of this home, oldest first."""
    from evolve.report.mail import mail_lines, mail_rows
    from evolve.store import open_home

    with closing(open_home()) as home:
        rows = mail_rows(home, datetime.now(UTC))
    emit(json_, rows, mail_lines(rows))


@mailbox.command()
def claim(
    id: Annotated[
        str | None, typer.Argument(help="A request's id or its beginning; the oldest free one if left out.")
    ] = None,
    who: Who = None,
    minutes: Annotated[float, typer.Option(help="How long the claim holds.", min=0.1, max=10_080)] = 30.0,
    json_: JsonFlag = False,
) -> None:
    """Take a request, so that nobody else answers it meanwhile, and print it as JSON."""
    from evolve.models.mailbox import claim_first, claim_one
    from evolve.store import open_home

    now, hold = datetime.now(UTC), timedelta(minutes=minutes)
    with closing(open_home()) as home:
        by = _name(who)
        taken = claim_one(home.mailbox, id, by, now, hold) if id else claim_first(home.mailbox, by, now, hold)
    request = taken.asked.document
    document = {
        "request": request,
        "claim": taken.claim.model_dump(mode="json") if taken.claim else None,
        "reply_path": str(taken.box.reply_path(taken.asked.id)),
    }
    emit(json_, document, [json.dumps(request, indent=2, ensure_ascii=False)])


@mailbox.command()
def answer(
    id: Annotated[str, typer.Argument(help="The request's id or its beginning.")],
    file: Annotated[str, typer.Argument(help="The reply document; `-` reads stdin.")] = "-",
    who: Who = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="The input is the answer's text, not a reply document.")
    ] = False,
    json_: JsonFlag = False,
) -> None:
    """Check an answer and deliver it. The first one stays: exit 5 when somebody else was first."""
    from evolve.models.mailbox import find_request
    from evolve.store import open_home

    by, data = _name(who), _read(file)
    if plain:
        data = json.dumps({"text": _text(data, file), "model": by}).encode()
    with closing(open_home()) as home:
        box, full = find_request(home.mailbox, id)
        box.answer(full, data, by, datetime.now(UTC))
        path = box.reply_path(full)
    emit(json_, {"id": full, "reply": str(path)}, [f"Answered {full}: {path}"])


def _name(who: str | None) -> str:
    """Who answers; a container's user need not have a name."""
    try:
        return who or getpass.getuser()
    except (OSError, KeyError):
        return f"user {os.getuid()}"


def _text(data: bytes, file: str) -> str:
    """The text without the line end that a shell or an editor puts behind it."""
    from evolve.core.errors import UserError

    try:
        return data.decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise UserError(f"this is not UTF-8 text: {error.reason}", place=file, fix="save it as UTF-8") from None


def _read(file: str) -> bytes:
    from evolve.core.errors import UserError

    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", place=file, fix="name a file, or - for stdin") from None
