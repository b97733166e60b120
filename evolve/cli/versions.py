"""Commands about versions: route, diff, rollback, portfolio list|show|log|promote."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from evolve.cli.output import JsonFlag, emit

portfolio = typer.Typer(no_args_is_help=True, help="List, show and log portfolios; move live by hand.")


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    for command in (route, diff, rollback):
        app.command()(command)
    app.add_typer(portfolio, name="portfolio")


def route(
    query: Annotated[str, typer.Argument(help="The query text; `-` reads it from stdin.")],
    reference: Annotated[str | None, typer.Option("--portfolio", help="NAME (live) or NAME@N.")] = None,
    show_why: Annotated[bool, typer.Option("--why", help="Say which rule decided and what it saw.")] = False,
    journal: Annotated[
        str | None,
        typer.Option(help="What is kept of it: full, hash or off. The version's campaign says it otherwise."),
    ] = None,
    cost_weight: Annotated[
        float | None,
        typer.Option(help="0 to 1: how much a cheaper answer is worth to this query. The version says it otherwise."),
    ] = None,
    json_: JsonFlag = False,
) -> None:
    """Answer one query through the learned portfolio."""
    import sys

    from evolve.campaign.route import Wishes, route_once
    from evolve.report.routed import routed_document, routed_lines
    from evolve.store import open_home

    text = sys.stdin.read() if query == "-" else query
    with closing(open_home()) as home:
        routed = route_once(home, reference, text, dict(os.environ), wishes=Wishes(_mode(journal), cost_weight))
        document = routed_document(routed.version, routed.label, routed.answer)
        document |= {"id": routed.id, "journal": routed.journal}
        lines = routed_lines(document, why=show_why)
        emit(json_, document, [*lines, f"  query {routed.id}, journal: {routed.journal}"] if show_why else lines)


def _mode(journal: str | None) -> Any:
    from evolve.books import MODES
    from evolve.core.errors import UserError

    if journal is not None and journal not in MODES:
        raise UserError(f"there is no mode {journal!r}", place="--journal", fix=f"one of {', '.join(MODES)}")
    return journal


def diff(a: str, b: str, json_: JsonFlag = False) -> None:
    """Compare two versions, members or trees: files, graphs, behaviour, evidence."""
    from evolve.report.diff import diff_lines, diff_references
    from evolve.store import open_home

    with closing(open_home()) as home:
        document = diff_references(home, a, b)
        emit(json_, document, diff_lines(document))


def rollback(
    name: str,
    to: Annotated[int, typer.Option(help="The version whose content becomes live again.")],
    reason: Annotated[str, typer.Option(help="Why; kept in the log for ever.")],
    json_: JsonFlag = False,
) -> None:
    """Make a new version with the content of an old one, and make it live."""
    from evolve.campaign.publish import roll_back
    from evolve.core.errors import UserError
    from evolve.report.references import resolve_reference
    from evolve.store import open_home

    if not reason.strip():
        raise UserError("a rollback needs a reason", place="--reason", fix="--reason 'why'")
    with closing(open_home()) as home:
        resolve_reference(home, f"{name}@{to}")
        row = roll_back(home, name, to, reason)
        document = {"portfolio": name, "version": row.number, "restores": to, "was_live": row.parent, "reason": reason}
        emit(json_, document, [f"{name}@{row.number} is live: the content of {name}@{to} (was {name}@{row.parent})."])


@portfolio.command("list")
def list_(json_: JsonFlag = False) -> None:
    """All portfolios with their live version."""
    from evolve.store import open_home

    with closing(open_home()) as home:
        rows = [
            {"portfolio": n, "live": home.versions.pointer(n), "versions": len(home.versions.list(n))}
            for n in home.versions.names()
        ]
        emit(json_, rows, [f"{r['portfolio']}@{r['live']} ({r['versions']} versions)" for r in rows] or ["none yet"])


@portfolio.command()
def show(
    reference: str,
    curve: Annotated[bool, typer.Option("--curve", help="Draw quality against cost.")] = False,
    png: Annotated[Path | None, typer.Option(help="Write the curve as a picture.")] = None,
    json_: JsonFlag = False,
) -> None:
    """Members, router, evidence and traffic of one version; with --curve what cheaper answers would cost in score."""
    from evolve.report.why import show_version
    from evolve.store import open_home

    with closing(open_home()) as home:
        document, lines = show_version(home, reference)
        if curve or png:
            from evolve.report.curve import curve_document, curve_lines, draw_png, version_curve

            found, drawn, notes = version_curve(home, reference)
            document["curve"] = curve_document(found, drawn, notes)
            lines += ["", *curve_lines(found, drawn, notes)]
            if png:
                draw_png(found, drawn, png)
                lines.append(f"written: {png}")
        emit(json_, document, lines)


@portfolio.command()
def log(name: str, json_: JsonFlag = False) -> None:
    """All versions, newest first, and every move of live."""
    from evolve.report.why import version_log
    from evolve.store import open_home

    with closing(open_home()) as home:
        document, lines = version_log(home, name)
        emit(json_, document, lines)


@portfolio.command()
def promote(
    reference: Annotated[str, typer.Argument(help="NAME@N")],
    unproven: Annotated[bool, typer.Option("--unproven", help="Make it live without a promote verdict.")] = False,
    reason: Annotated[str, typer.Option(help="Needed with --unproven; shown for ever.")] = "",
    json_: JsonFlag = False,
) -> None:
    """Make a version live. Needs its promote verdict, or --unproven with a reason."""
    from evolve.core.errors import UserError
    from evolve.report.diff import require_version
    from evolve.report.references import resolve_reference
    from evolve.store import open_home

    with closing(open_home()) as home:
        target = resolve_reference(home, reference)
        number = require_version(target)
        if not _is_proven(target.evidence) and not (unproven and reason.strip()):
            raise UserError(
                "this version has no promote verdict", place=reference, fix="add --unproven --reason 'why' to insist"
            )
        live = home.versions.pointer(target.name)
        note = reason or "promoted by hand on its verdict"
        note = f"UNPROVEN: {note}" if not _is_proven(target.evidence) else note
        home.versions.move_pointer(target.name, "live", expected=live, to=number, reason=note)
        emit(json_, {"portfolio": target.name, "live": number, "reason": note}, [f"{target.label} is live: {note}"])


def _is_proven(evidence: Any) -> bool:
    verdict = evidence.get("verdict") or {}
    return bool(verdict.get("decision") == "promote")
