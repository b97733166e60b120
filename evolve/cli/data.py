"""Commands about cases: data import, show, renew."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from evolve.cli.output import JsonFlag, emit

DEFAULT_ALPHA = 0.05
"""The error budget that a file is held against when no campaign is named."""

data = typer.Typer(no_args_is_help=True, help="Bring cases in, look at them, and renew heldout.")


def register(app: typer.Typer) -> None:
    """Adds the command group."""
    app.add_typer(data, name="data")


@data.command("import")
def import_(
    source: Annotated[
        Path, typer.Argument(help="A file or a folder: rows, Parquet, promptfoo tests, Inspect samples.")
    ],
    out: Annotated[Path, typer.Argument(help="The .jsonl file to write.")],
    format: Annotated[
        str | None,
        typer.Option(help="auto, hf, promptfoo, inspect, or rows of one kind: csv, tsv, json, jsonl, parquet."),
    ] = None,
    input: Annotated[str | None, typer.Option(help="The column of the question.")] = None,
    expected: Annotated[str | None, typer.Option(help="The column of the expected answer.")] = None,
    id: Annotated[str | None, typer.Option(help="The column of the id.")] = None,
    tags: Annotated[list[str] | None, typer.Option(help="A column that becomes a tag; may be given again.")] = None,
    group: Annotated[str | None, typer.Option(help="The column whose equal values are never parted.")] = None,
    split_column: Annotated[str | None, typer.Option(help="The column that says the split of each row.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many cases.")] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave bad rows out and count them.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over an existing file.")] = False,
    json_: JsonFlag = False,
) -> None:
    """Turn cases of another tool into one file, and print the `data:` section that reads it."""
    from evolve.core.errors import UserError
    from evolve.data.importing import ImportOptions, import_cases

    if out.suffix != ".jsonl":
        raise UserError("cases are written as JSON lines", place=str(out), fix="name a .jsonl file")
    if out.exists() and not force:
        raise UserError("the file exists", place=str(out), fix="another name, or --force")
    options = ImportOptions(
        format, input, expected, id, tuple(tags or ()), limit, skip_bad, split_column=split_column, group=group
    )
    found = import_cases(source, out, options)
    document, lines = _describe(found, out)
    emit(json_, document, lines)


def _describe(found: Any, out: Path) -> tuple[dict[str, Any], list[str]]:
    from collections import Counter

    import yaml

    from evolve.core.hashing import short
    from evolve.report.datasets import split_sizes

    tags = Counter(f"{name}={value}" for case in found.report.cases for name, value in case.tags.items())
    section = {"data": found.settings.model_dump(mode="json", exclude_defaults=True)}
    document = {
        "file": str(out),
        "cases": len(found.report.cases),
        "fingerprint": found.dataset.content_hash if found.dataset else None,
        "splits": split_sizes(found.dataset) if found.dataset else {},
        "tags": dict(tags.most_common()),
        "notes": [*found.notes, *found.report.notes],
        "data": section["data"],
        "scorer": found.scorer,
    }
    lines = [f"{len(found.report.cases)} cases → {out}"]
    if found.dataset:
        lines.append(f"fingerprint {short(document['fingerprint'])}")
        lines.append("splits: " + ", ".join(f"{name} {count}" for name, count in document["splits"].items()))
    shown = ", ".join(f"{tag} {count}" for tag, count in tags.most_common(8))
    lines += [f"tags: {shown}{' …' if len(tags) > 8 else ''}"] if tags else []
    lines += [*(f"note: {note}" for note in document["notes"])]
    lines += ["", "In campaign.yaml:", yaml.safe_dump(section, sort_keys=False).rstrip()]
    return document, [*lines, f"scorer: {found.scorer}"] if found.scorer else lines


@data.command()
def show(
    target: Annotated[Path, typer.Argument(help="A campaign file, or a file of cases.")],
    split: Annotated[str | None, typer.Option(help="train or dev: show a few of its cases too.")] = None,
    json_: JsonFlag = False,
) -> None:
    """Count cases by split and tag, and say what is left of the error budget; heldout texts are never shown."""
    from evolve.core.cases import Split
    from evolve.core.errors import UserError
    from evolve.report.datasets import dataset_document, dataset_lines, example_lines

    if split not in (None, "train", "dev"):
        raise UserError(f"cases of {split!r} are not shown", place="--split", fix="--split train or --split dev")
    dataset, report, alpha = _load(target, split)
    home = _home_near(target)
    document = dataset_document(dataset, report, home, alpha)
    if home is not None:
        home.close()
    lines = dataset_lines(document)
    if split is not None:
        lines += example_lines(dataset[Split(split)])
    emit(json_, document, lines)


@data.command()
def renew(
    campaign: Annotated[Path, typer.Argument(help="The campaign file.")],
    fresh: Annotated[Path, typer.Argument(help="A file of new cases, with the columns of the old one.")],
    write: Annotated[bool, typer.Option("--write", help="Put the new section into the campaign file.")] = False,
    json_: JsonFlag = False,
) -> None:
    """Seal fresh cases as heldout; the old heldout cases retire to train. The old file stays as it is."""
    from evolve.campaign.renew import renew_heldout
    from evolve.campaign.run import load_inputs
    from evolve.campaign.section import put_data_section
    from evolve.store import open_home

    inputs = load_inputs(campaign, dict(os.environ))
    with closing(open_home(create=True, near=campaign)) as home:
        done = renew_heldout(home, inputs.config, inputs.root, fresh)
    if write:
        put_data_section(campaign, done.settings)
    document = {
        "file": str(done.file),
        "fresh": done.fresh,
        "retired": done.retired,
        "from": done.old_fingerprint,
        "to": done.new_fingerprint,
        "data": done.section,
        "written": write,
    }
    lines = [f"{done.fresh} fresh cases are heldout now, {done.retired} old ones may be trained on: {done.file}"]
    lines += [f"note: {note}" for note in done.notes]
    words = f"{campaign} reads it now:" if write else "In campaign.yaml, instead of the old section:"
    emit(json_, document, [*lines, "", words, done.section])


def _load(target: Path, shown: str | None) -> tuple[Any, Any, float]:
    """(dataset, load report, alpha) of a campaign file, or of a file of cases with the splits that it states.

    A file that states none may be sealed otherwise by a campaign, so its texts are not shown.
    """
    from evolve.campaign.config import read_campaign
    from evolve.core.errors import UserError
    from evolve.data import load_cases, split_cases
    from evolve.data.stated import stated_settings

    if target.suffix in (".yaml", ".yml"):
        config = read_campaign(target)
        settings, path, alpha = config.data, target.resolve().parent / config.data.cases, config.gate.alpha
    else:
        settings, path, alpha = stated_settings(target), target, DEFAULT_ALPHA
        if shown is not None and settings.split.column is None:
            raise UserError(
                "which cases are sealed is not said in this file", place=str(target), fix="name the campaign"
            )
    report = load_cases(path, settings)
    return split_cases(report.cases, settings.split, report.origins, name=target.stem), report, alpha


def _home_near(target: Path) -> Any:
    """The home beside the target, or None: looking at cases makes none."""
    from evolve.core.errors import UserError
    from evolve.store import open_home

    try:
        return open_home(near=target)
    except UserError:
        return None
