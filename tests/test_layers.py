"""The import rules hold, and no package escapes them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
CONTRACTS = {contract["id"]: contract for contract in SETTINGS["contracts"]}
ROOMS = {"harnesses", "portfolios", "tool_forge", "workflows"}


def packages() -> set[str]:
    inner = {f"evolve.{path.parent.name}" for path in (ROOT / "evolve").glob("*/__init__.py")}
    return inner | {path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name in ROOMS}


def test_every_contract_is_kept(capsys) -> None:
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_every_package_stands_in_exactly_one_layer() -> None:
    standing = [name for layer in CONTRACTS["layers"]["layers"] for name in re.findall(r"[\w.]+", layer)]
    assert len(standing) == len(set(standing))
    assert packages() <= set(standing)


def test_the_four_rooms_may_not_reach_models_stores_books_or_sandboxes() -> None:
    contract = CONTRACTS["rooms"]
    closed = {f"evolve.{name}" for name in ("books", "embed", "models", "sandbox", "store")} & packages()
    assert set(contract["source_modules"]) == ROOMS
    assert closed <= set(contract["forbidden_modules"])
