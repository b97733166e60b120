"""`evolve replay`: a campaign again, from its recording, with nobody to ask."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from evolve.cli.output import JsonFlag, emit

DIFFERENT = 1


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(replay)


def replay(
    target: Annotated[str, typer.Argument(help="A campaign id of this home, or the folder of a recording.")],
    save: Annotated[Path | None, typer.Option(help="Only write the recording of a campaign into this folder.")] = None,
    json_: JsonFlag = False,
) -> None:
    """Run a recorded campaign again with the network closed: identical, or the first difference named (exit 1)."""
    import tempfile

    from evolve.campaign.replay.record import RECORD

    folder = Path(target)
    if save is not None:
        _save(target, save)
        emit(
            json_,
            {"campaign": target, "recording": str(save)},
            [f"{target} → {save}; replay it with: evolve replay {save}"],
        )
        return
    if (folder / RECORD).is_file():
        document = _play(folder, quiet=json_)
    else:
        with tempfile.TemporaryDirectory(prefix="evolve-recording-") as scratch:
            _save(target, Path(scratch) / "recording")
            document = _play(Path(scratch) / "recording", quiet=json_)
    emit(json_, document, _lines(document))
    if not document["identical"]:
        raise typer.Exit(DIFFERENT)


def _save(campaign: str, folder: Path) -> None:
    from evolve.campaign.replay.save import save_recording
    from evolve.store import open_home

    with closing(open_home()) as home:
        save_recording(home, campaign, folder)


def _play(folder: Path, *, quiet: bool) -> dict[str, Any]:
    import asyncio

    from evolve.campaign.replay.play import play
    from evolve.cli.progress import Progress

    with Progress(quiet=quiet) as progress:
        replayed = asyncio.run(play(folder, progress.observe))
    return {
        "campaign": replayed.record.campaign,
        "identical": not replayed.difference,
        "difference": replayed.difference,
        "conclusion": replayed.expected.conclusion,
        "version_hash": replayed.expected.version,
        "notes": list(replayed.notes),
    }


def _lines(document: dict[str, Any]) -> list[str]:
    name = document["campaign"]
    if document["identical"]:
        ending = document["conclusion"] or "no conclusion"
        version = f", version {document['version_hash'][:12]}" if document["version_hash"] else ""
        lines = [f"{name}: identical ({ending.replace('_', ' ')}{version}); nothing was asked"]
    else:
        lines = [f"{name}: DIFFERENT. The first difference: {document['difference']}"]
    return lines + [f"note: {note}" for note in document["notes"]]
