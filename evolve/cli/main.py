"""`evolve`: the door. Turns the error tree into exit codes and checks that the rooms are ours."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import typer

from evolve import __version__
from evolve.cli import campaigns, project, trees, versions
from evolve.core.errors import EvolveError, HeldoutSealed, UserError

ROOMS = ("harnesses", "workflows", "tool_forge", "portfolios")


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


for _module in (project, campaigns, versions, trees):
    _module.register(app)


def check_rooms() -> None:
    """UserError when another distribution's package of the same name hides one of our rooms."""
    home = Path(__file__).resolve().parents[2]
    for room in ROOMS:
        spec = importlib.util.find_spec(room)
        places = list(spec.submodule_search_locations or []) if spec else []
        if not places or Path(places[0]).resolve().parent != home:
            found = places[0] if places else "nowhere"
            raise UserError(
                f"the package {room!r} is found at {found}, not beside evolve",
                place="installation",
                fix="give evolve-portfolio an environment of its own",
            )


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
