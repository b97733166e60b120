"""Providers and models: what they need, what they can do, what they cost. Nothing is connected or started."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evolve.books import PriceBook
from evolve.core.errors import UserError
from evolve.models import ModelSettings, OpenedModel, known_providers, open_model
from evolve.models.local.weights import PACKAGED, find_weights
from evolve.models.registry import USUAL_KEYS

_ANY = "any"
_NEEDS = {
    "local": "llama.cpp and a GGUF file; no key, no network",
    "mailbox": "somebody who answers files: a person, an agent or a job; no key, no network",
    "scripted": "a Python function that the caller passes; no key, no network",
}
_PRICES = {
    "local": "free: runs on this machine",
    "mailbox": "unknown unless budget.prices states it",
    "scripted": "free: runs on this machine",
}


def provider_rows(environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """Every provider: its key's variable and whether it is set, never the key; capabilities; where prices come from."""
    return [_provider_row(name, environment) for name in known_providers()]


def local_rows() -> list[dict[str, Any]]:
    """The local models that a package carries: whether their weights are here, and how to get them where not."""
    return [_local_row(f"local:{name}", packaged.fix) for name, packaged in sorted(PACKAGED.items())]


def role_rows(
    models: Mapping[str, ModelSettings], prices: PriceBook, environment: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The roles of a campaign, each resolved; `problem` and `fix` say why one cannot be opened."""
    return [{"role": role, **_resolved(settings, prices, environment)} for role, settings in models.items()]


def provider_lines(providers: Sequence[dict[str, Any]], local: Sequence[dict[str, Any]]) -> list[str]:
    """The two lists as text."""
    lines = []
    for row in providers:
        state = "" if row["key_set"] is None else f" ({'set' if row['key_set'] else 'NOT SET'})"
        can = ", ".join(row["capabilities"] or ["nothing said until it can be opened"])
        lines += [
            f"{row['provider']}",
            f"    needs {row['needs']}{state}",
            f"    can {can}",
            f"    price {row['price']}",
        ]
    for row in local:
        here = f"here, {row['identity']}" if row["present"] else f"NOT HERE: {row['problem']}; {row['fix']}"
        lines.append(f"{row['model']}: {here}")
    return lines


def role_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The roles of a campaign as text."""
    lines = []
    for row in rows:
        lines.append(f"{row['role']}: {row['identity'] or row['model']}")
        if row["problem"]:
            lines += [f"    CANNOT BE OPENED: {row['problem']}", f"    fix: {row['fix']}"]
        else:
            lines.append(f"    can {', '.join(row['capabilities'])}")
        adaptive = ", lowered when refused" if row["adaptive"] else ""
        lines.append(f"    {row['price']['words']}; up to {row['concurrency']} calls at a time{adaptive}")
    return lines


def _provider_row(name: str, environment: Mapping[str, str]) -> dict[str, Any]:
    key = USUAL_KEYS.get(name)
    needs = f"a key in {key}, or in the variable that api_key_env names" if key else _NEEDS.get(name, "")
    return {
        "provider": name,
        "needs": needs,
        "key_variable": key,
        "key_set": bool(environment.get(key)) if key else None,
        "capabilities": _capabilities_of(name),
        "price": _PRICES.get(name, "by model, from the price book; a model it does not know is unpriced, never free"),
    }


def _capabilities_of(provider: str) -> list[str] | None:
    """What a model of this provider says of itself; None where none can be opened here."""
    name = next(iter(sorted(PACKAGED)), _ANY) if provider == "local" else _ANY
    stand_in = {variable: _ANY for variable in USUAL_KEYS.values()}
    try:
        model = open_model(
            ModelSettings(model=f"{provider}:{name}"),
            environment=stand_in,
            scripted={_ANY: lambda _request, _rng: ""},
            mailbox=Path(_ANY),
        )
    except UserError:
        return None
    return _read_and_close(model)[1]


def _local_row(model: str, fix: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "model": model,
        "present": False,
        "identity": None,
        "weights": None,
        "problem": "",
        "fix": fix,
    }
    try:
        weights = find_weights(model.partition(":")[2])
        identity, _ = _read_and_close(open_model(ModelSettings(model=model), environment={}))
    except UserError as error:
        return row | {"problem": error.message, "fix": error.fix or fix}
    return row | {"present": True, "identity": identity, "weights": str(weights), "fix": ""}


def _resolved(settings: ModelSettings, prices: PriceBook, environment: Mapping[str, str]) -> dict[str, Any]:
    identity, capabilities, problem, fix = None, None, "", ""
    try:
        opened = open_model(settings, environment=environment, mailbox=Path(_ANY))
        identity, capabilities = _read_and_close(opened)
    except UserError as error:
        problem, fix = error.message, error.fix
    return {
        "model": settings.model,
        "identity": identity,
        "problem": problem,
        "fix": fix,
        "capabilities": capabilities,
        "concurrency": settings.lanes,
        "adaptive": settings.adaptive and settings.provider in USUAL_KEYS,
        "timeout_seconds": settings.seconds,
        "price": _price(identity or settings.model, prices),
    }


def _price(identity: str, prices: PriceBook) -> dict[str, Any]:
    """Dollars per million tokens as decimal text, None where unknown; higher tiers are in the words."""
    described = prices.describe(identity)
    rates = described["rates"]
    return {
        "input_per_million": rates["prompt"][0][1] if rates else None,
        "output_per_million": rates["completion"][0][1] if rates else None,
        "source": described["source"],
        "words": prices.words(identity),
    }


def _read_and_close(model: OpenedModel) -> tuple[str, list[str]]:
    """Identity and capabilities. A model is closed though it was never asked: its client holds a pool."""
    found = model.identity, ["chat", *sorted(capability.value for capability in model.capabilities)]
    asyncio.run(model.close())
    return found
