"""What models there are and what they need: providers, or the roles of one campaign. Nothing is started or asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evolve.books import PriceBook, PriceOverride
from evolve.core.errors import EvolveError
from evolve.models import ModelSettings, known_providers, open_model
from evolve.models.local.weights import PACKAGED

KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


def provider_rows(environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """One row for each provider, and one for each local model: what it needs and whether that is there."""
    rows: list[dict[str, Any]] = []
    for provider in known_providers():
        if provider == "local":
            rows += [_local_row(f"local:{name}", environment) for name in PACKAGED]
        elif provider in KEYS:
            name = KEYS[provider]
            ready = bool(environment.get(name))
            need = f"${name} is {'set' if ready else 'not set'}"
            rows.append({"model": f"{provider}:NAME", "ready": ready, "needs": need})
        elif provider == "mailbox":
            rows.append({"model": "mailbox:NAME", "ready": True, "needs": "somebody who answers files"})
    return rows


def role_rows(
    models: Mapping[str, ModelSettings], prices: Mapping[str, PriceOverride], environment: Mapping[str, str]
) -> list[dict[str, Any]]:
    """One row for each role of a campaign: identity, abilities, price, calls at a time, and what is missing."""
    book = PriceBook(prices)
    rows = []
    for role, settings in models.items():
        row: dict[str, Any] = {"role": role, "model": settings.model, "at_a_time": settings.lanes}
        row["price"] = "free" if book.is_free(settings.model) else book.words(settings.model)
        if settings.provider == "scripted":
            rows.append({**row, "ready": False, "needs": "a script, which only Python callers pass"})
            continue
        rows.append({**row, **_opened(settings, environment)})
    return rows


def _local_row(model: str, environment: Mapping[str, str]) -> dict[str, Any]:
    return {"model": model, **_opened(ModelSettings(model=model), environment)}


def _opened(settings: ModelSettings, environment: Mapping[str, str]) -> dict[str, Any]:
    """Identity and abilities; or what is missing. Opening a model starts and connects nothing."""
    try:
        model = open_model(settings, environment=environment, mailbox=Path("mailbox"))
        abilities = ["chat", *sorted(str(ability) for ability in model.capabilities)]
        return {"ready": True, "needs": "", "identity": model.identity, "can": abilities}
    except EvolveError as error:
        return {"ready": False, "needs": str(error).replace("\n  fix: ", "; ")}


def row_line(row: Mapping[str, Any]) -> str:
    """One row for a person."""
    head = f"{row['role']:10} " if "role" in row else ""
    parts = [f"{head}{row.get('identity', row['model'])}"]
    parts += [f"price: {row['price']}"] if "price" in row else []
    parts += [f"{row['at_a_time']} at a time"] if "at_a_time" in row else []
    parts += [f"can {', '.join(row['can'])}"] if "can" in row else []
    parts += [("" if row["ready"] else "NOT READY: ") + row["needs"]] if row["needs"] else []
    return "; ".join(parts)
