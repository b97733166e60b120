"""What every embedder must do: unit rows, the same every time, meaning near to meaning."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from evolve.core.errors import UserError
from evolve.core.protocols import Embedder
from evolve.embed import open_embedder

TEXTS = [
    "The parcel has not arrived yet.",
    "Where is my package?",
    "The soup was cold and the waiter rude.",
    "ünïcödé 日本語 🙂",
    "word " * 2000,
]


@pytest.fixture(scope="module", params=["quality", "fast"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return open_embedder(request.param)


def test_rows_are_unit_vectors_and_empty_text_is_zero(embedder: Embedder) -> None:
    rows = embedder.embed([*TEXTS, "", "   "])
    lengths = np.linalg.norm(rows, axis=1)
    assert rows.dtype == np.float32
    assert np.allclose(lengths[: len(TEXTS)], 1.0, atol=1e-5)
    assert np.all(lengths[len(TEXTS) :] == 0.0)


def test_a_row_does_not_depend_on_its_company(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS)
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    assert np.allclose(together, alone, atol=1e-5)


def test_the_same_text_gives_the_same_row(embedder: Embedder) -> None:
    assert np.array_equal(embedder.embed(TEXTS), embedder.embed(TEXTS))


def test_near_in_meaning_is_near(embedder: Embedder) -> None:
    parcel, package, soup = embedder.embed(TEXTS[:3])
    assert parcel @ package > parcel @ soup


def test_identity_begins_with_the_name_it_opens_by(embedder: Embedder) -> None:
    kind = embedder.identity.partition(":")[0]
    assert open_embedder(kind).identity == embedder.identity


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([]).shape[0] == 0


def test_loading_leaves_the_logging_of_its_user_alone() -> None:
    before = (list(logging.getLogger().handlers), logging.getLogger().level)
    open_embedder("fast").embed(["hello"])
    assert (list(logging.getLogger().handlers), logging.getLogger().level) == before


def test_an_unknown_embedder_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UserError, match="quality"):
        open_embedder("qualty")
