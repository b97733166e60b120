"""`evolve`: the door. Turns the error tree into exit codes and checks that the rooms are ours."""

from __future__ import annotations

import json
import sys

import typer

from evolve import __version__
from evolve.cli import campaigns, mailbox, models, project, replaying, trees, versions
from evolve.cli.rooms import check_rooms
from evolve.core.errors import EvolveError, HeldoutSealed


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


for _module in (project, campaigns, versions, trees, replaying, mailbox, models):
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
    """The error on stderr, as JSON too when the command was asked for JSON."""
    if "--json" in sys.argv:
        sys.stdout.write(json.dumps({"error": str(error), "exit_code": error.exit_code}) + "\n")
    sys.stderr.buffer.write(f"error: {error}\n".encode("utf-8", "backslashreplace"))
