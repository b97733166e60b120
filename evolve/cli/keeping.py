"""Commands about what is kept: gc removes what is too old, forget removes one query's text."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from evolve.cli.output import JsonFlag, emit


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    for command in (gc, forget):
        app.command()(command)


def gc(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    json_: JsonFlag = False,
) -> None:
    """Remove texts older than their campaign's journal.keep_days, and what nothing refers to. The books stay."""
    from dataclasses import asdict

    from evolve.campaign.retention import collect_garbage
    from evolve.store import open_home

    with closing(open_home()) as home:
        done = collect_garbage(home, dry_run=dry_run)
    verb = "would remove" if dry_run else "removed"
    lines = [f"{verb} {row.count:,} {row.what}: {row.bytes:,} bytes" for row in done.removed]
    if done.shrunk:
        lines.append(f"the databases shrank by {done.shrunk:,} bytes")
    emit(json_, {**asdict(done), "dry_run": dry_run}, [*lines, *done.notes])


def forget(
    query: Annotated[str | None, typer.Argument(help="The exact text; `-` reads it from stdin.")] = None,
    id_: Annotated[str | None, typer.Option("--id", help="A routed query by its id instead of by its text.")] = None,
    everything_else: Annotated[
        bool, typer.Option("--everything-else", help="Go on although trees carry the text, which cannot change.")
    ] = False,
    json_: JsonFlag = False,
) -> None:
    """Remove a query's text from everything that is kept here. Rows and sums stay, marked as forgotten."""
    import sys
    from dataclasses import asdict

    from evolve.campaign import forget as forgetting
    from evolve.core.errors import UserError
    from evolve.store import open_home

    if (query is None) == (id_ is None):
        raise UserError("say what to forget", place="forget", fix="give a query's text, or --id ID of a routed one")
    with closing(open_home()) as home:
        if query is None:
            sought = forgetting.sought_route(home, id_ or "")
        else:
            sought = forgetting.sought_text(home, sys.stdin.read() if query == "-" else query)
        done = forgetting.forget(home, sought, everything_else=everything_else)
    lines = [f"forgotten in {count:,} {place}" for place, count in done.places.items()]
    lines += [f"still carried by {who}: {', '.join(paths)}" for who, paths in sorted(done.carried.items())]
    emit(json_, asdict(done), lines or ["nothing of it is kept here"])
