"""The `fast` embedder: averaged static word vectors (wordllama, 256 dimensions)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evolve.embed.unit_rows import unit_rows
from evolve.embed.weights import find_package, hash_files

_FIX = "pip install wordllama==0.4.0.post1"
_DIMENSIONS = 256


class StaticWords:
    """Loads its 16 MB on the first use; never looks for files elsewhere."""

    def __init__(self) -> None:
        self._folder = find_package("wordllama", fix=_FIX)

    @cached_property
    def identity(self) -> str:
        """`fast:wordllama-256@sha256:` and 16 digits of the hash of weights and tokenizer."""
        weights = self._folder / "weights" / "l2_supercat_256.safetensors"
        tokenizer = self._folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
        return f"fast:wordllama-{_DIMENSIONS}@sha256:{hash_files([weights, tokenizer])}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (len(texts), 256), unit rows; zero rows for texts without a known token."""
        filled = [number for number, text in enumerate(texts) if text.strip()]
        rows = np.zeros((len(texts), _DIMENSIONS), dtype=np.float32)
        if filled:
            rows[filled] = self._vectors.embed([texts[number] for number in filled])
        return unit_rows(rows)

    @cached_property
    def _vectors(self) -> Any:
        root = logging.getLogger()
        handlers, level = list(root.handlers), root.level
        import wordllama

        # Its import configures the root logger, which belongs to whoever runs us.
        root.handlers[:], root.level = handlers, level
        return wordllama.WordLlama.load(cache_dir=self._folder, disable_download=True)
