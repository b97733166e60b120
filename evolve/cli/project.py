"""Commands about a project folder: init, doctor, demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evolve.cli.output import JsonFlag, emit


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    for command in (init, demo, doctor):
        app.command()(command)


def init(
    directory: Annotated[Path, typer.Argument(help="A new or empty folder.")],
    cases: Annotated[Path | None, typer.Option(help="Your cases instead of the starter's.")] = None,
    json_: JsonFlag = False,
) -> None:
    """Write a campaign that runs as it is: campaign.yaml, a seed harness, starter cases."""
    from evolve.cli.starter import write_starter

    written = write_starter(directory, cases)
    lines = [f"wrote {path}" for path in written]
    lines.append(f"next: cd {directory} && evolve check campaign.yaml && evolve run campaign.yaml")
    emit(json_, {"directory": str(directory), "files": written}, lines)


def demo(
    scripted: Annotated[bool, typer.Option("--scripted", help="A scripted model instead of a real one.")] = False,
    directory: Annotated[Path, typer.Option("--dir", help="Where the demo keeps everything.")] = Path("demo"),
    json_: JsonFlag = False,
) -> None:
    """Run the whole path on the example desk: campaign, verdict, routed queries, diff, rollback."""
    from evolve.cli.demo import run_demo

    run_demo(directory, scripted=scripted, quiet=json_)


def doctor(
    deep: Annotated[bool, typer.Option("--deep", help="Also whether every call in the books adds up.")] = False,
    json_: JsonFlag = False,
) -> None:
    """Check the installation and this home; says how to mend what is wrong."""
    from evolve.cli.checkup import check_deep, check_everything

    findings = check_everything() + (check_deep() if deep else [])
    lines = []
    for finding in findings:
        lines.append(f"{'ok  ' if finding.ok else 'FAIL'} {finding.name}: {finding.detail}")
        lines += [f"     fix: {finding.fix}"] if finding.fix else []
    emit(json_, [f.__dict__ for f in findings], lines)
    if not all(f.ok or f.optional for f in findings):
        raise typer.Exit(3)
