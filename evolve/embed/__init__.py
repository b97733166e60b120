"""Sentence embedders behind one protocol, offline: `quality` (MiniLM) and `fast` (static word vectors)."""

from evolve.embed.registry import known_embedders, open_embedder

__all__ = ["known_embedders", "open_embedder"]
