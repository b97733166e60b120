"""`evolve models list`: providers, local models, and the roles of a campaign."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from evolve.cli.output import JsonFlag, emit

models = typer.Typer(no_args_is_help=True, help="Look at providers and models; connects nowhere.")


def register(app: typer.Typer) -> None:
    """Adds the command group."""
    app.add_typer(models, name="models")


@models.command("list")
def list_(
    campaign: Annotated[Path | None, typer.Argument(help="A campaign file: its roles are listed instead.")] = None,
    json_: JsonFlag = False,
) -> None:
    """Say what each provider needs, can do and costs, or what the roles of a campaign resolve to."""
    from evolve.report.models import local_rows, provider_lines, provider_rows, role_lines

    environment = dict(os.environ)
    if campaign is not None:
        roles = _roles(campaign, environment)
        emit(json_, {"campaign": str(campaign), "roles": roles}, role_lines(roles))
        return
    providers, local = provider_rows(environment), local_rows()
    emit(json_, {"providers": providers, "local_models": local}, provider_lines(providers, local))


def _roles(path: Path, environment: dict[str, str]) -> list[dict[str, Any]]:
    from evolve.books import PriceBook
    from evolve.campaign.config import read_campaign
    from evolve.report.models import role_rows

    config = read_campaign(path)
    return role_rows(config.models, PriceBook(config.budget.prices), environment)
