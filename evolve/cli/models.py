"""Commands about models: models list."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from evolve.cli.output import JsonFlag, emit

models = typer.Typer(no_args_is_help=True, help="Which models there are, and what they need.")


def register(app: typer.Typer) -> None:
    """Adds the command group."""
    app.add_typer(models, name="models")


@models.callback()
def _group() -> None:
    """A group although it has one command."""


@models.command("list")
def list_(
    campaign: Annotated[
        Path | None, typer.Argument(help="A campaign file: its roles instead of all providers.")
    ] = None,
    json_: JsonFlag = False,
) -> None:
    """Show providers and local models, or the roles of a campaign: price, abilities, and what is missing."""
    from evolve.campaign.config import read_campaign
    from evolve.report.models import provider_rows, role_rows, row_line

    environment = dict(os.environ)
    if campaign is None:
        rows = provider_rows(environment)
    else:
        config = read_campaign(campaign)
        rows = role_rows(config.models, config.budget.prices, environment)
    emit(json_, rows, [row_line(row) for row in rows])
