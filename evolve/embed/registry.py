"""The embedders by name."""

from __future__ import annotations

from evolve.core.errors import UserError
from evolve.core.names import nearest
from evolve.core.protocols import Embedder

_NAMES = ("fast", "quality")


def known_embedders() -> tuple[str, ...]:
    """The embedder names, sorted."""
    return _NAMES


def open_embedder(name: str) -> Embedder:
    """`quality` (384-d, some ms a text) or `fast` (256-d, some µs a text). UserError for another or absent one."""
    if name == "quality":
        from evolve.embed.minilm import MiniLM  # tokenizers and safetensors are slow to import

        return MiniLM()
    if name == "fast":
        from evolve.embed.static import StaticWords  # wordllama is slow to import

        return StaticWords()
    near = nearest(name, _NAMES)
    guess = f"did you mean {near!r}? " if near else ""
    raise UserError(f"there is no embedder {name!r}", place="embedder", fix=f"{guess}known: {', '.join(_NAMES)}")
