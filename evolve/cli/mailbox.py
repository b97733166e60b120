"""Commands for those who answer a mailbox: list, claim, answer."""

from __future__ import annotations

import getpass
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evolve.cli.output import JsonFlag, emit

if TYPE_CHECKING:
    from evolve.models.mailbox import Box

mailbox = typer.Typer(no_args_is_help=True, help="Answer the requests of `mailbox:` models.")
Who = Annotated[str | None, typer.Option("--as", help="Who answers; your user name when left out.")]


def register(app: typer.Typer) -> None:
    """Adds the command group."""
    app.add_typer(mailbox, name="mailbox")


@mailbox.command("list")
def list_(json_: JsonFlag = False) -> None:
    """Open requests of every mailbox in this home, and who has claimed them."""
    rows = [
        {
            "id": id,
            "campaign": box.folder.parent.name,
            "model": f"mailbox:{box.folder.name}",
            "claimed_by": box.claimed_by(id),
            "file": str(box.folder / "requests" / f"{id}.json"),
        }
        for box in _boxes()
        for id in box.open_requests()
    ]
    lines = [f"{r['id']} {r['campaign']} {r['model']} {r['claimed_by'] or ''}".rstrip() for r in rows]
    emit(json_, rows, lines or ["no open requests"])


@mailbox.command()
def claim(
    id: Annotated[str | None, typer.Argument(help="A request; the next free one when left out.")] = None,
    who: Who = None,
) -> None:
    """Take a request for an hour and print it; exit 3 when none is free."""
    from evolve.core.errors import UserError

    name = who or getpass.getuser()
    for box in _boxes():
        for found in box.open_requests():
            if (id is None or found == id) and box.claim(found, name):
                emit(False, None, [(box.folder / "requests" / f"{found}.json").read_text(encoding="utf-8").rstrip()])
                return
    if id is not None:
        raise UserError(f"request {id} is not open, or somebody else has it", fix="evolve mailbox list")
    emit(False, None, ["no free request"])
    raise typer.Exit(3)


@mailbox.command()
def answer(
    id: str,
    file: Annotated[Path, typer.Argument(help="The reply as JSON; `-` reads it from stdin.")],
    who: Who = None,
    json_: JsonFlag = False,
) -> None:
    """Check a reply and put it in; the first whole one counts."""
    data = sys.stdin.buffer.read() if str(file) == "-" else _read(file)
    box = _box_of(id)
    box.answer(id, data, who or getpass.getuser())
    emit(json_, {"id": id, "answered": True}, [f"{id}: answered"])


def _read(file: Path) -> bytes:
    from evolve.core.errors import UserError

    try:
        return file.read_bytes()
    except OSError as error:
        raise UserError(
            f"cannot be read: {error.strerror}", place=str(file), fix="name the file of the reply"
        ) from None


def _box_of(id: str) -> Box:
    from evolve.core.errors import UserError

    for box in _boxes():
        if box.has(id):
            return box
    raise UserError(f"there is no request {id} in this home", fix="evolve mailbox list")


def _boxes() -> list[Box]:
    from evolve.models.mailbox import open_boxes
    from evolve.store import open_home

    with closing(open_home()) as home:
        return open_boxes(home.path / "mailbox")
