"""`evolve`: the door. Turns the error tree into exit codes and checks that the rooms are ours."""

from __future__ import annotations

import json
import os
import sys

import typer

from evolve import __version__
from evolve.cli import campaigns, data, keeping, mailbox, models, project, replaying, trees, versions
from evolve.cli.rooms import check_rooms
from evolve.core.errors import EvolveError, HeldoutSealed
from evolve.core.redact import Redactor


def _version(show: bool) -> None:
    if show:
        typer.echo(f"evolve {__version__}")
        raise typer.Exit


app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Improve an agent offline, prove the gain on sealed cases, keep and route a versioned portfolio.",
)


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """The options before the command."""


for _module in (project, campaigns, versions, trees, data, models, mailbox, replaying, keeping):
    _module.register(app)


def main() -> None:
    """Runs a command; exit codes as documented (0, 2 input, 3 world, 4 budget, 5 pointer moved)."""
    try:
        check_rooms()
        app(standalone_mode=True)
    except HeldoutSealed:
        raise
    except EvolveError as error:
        _report(error)
        sys.exit(error.exit_code)


def _report(error: EvolveError) -> None:
    """The error on stderr, without secrets; as JSON too when the command was asked for JSON."""
    said = Redactor.of(os.environ).text(str(error))
    if "--json" in sys.argv:
        sys.stdout.write(json.dumps({"error": said, "exit_code": error.exit_code}) + "\n")
    sys.stderr.buffer.write(f"error: {said}\n".encode("utf-8", "backslashreplace"))
