from __future__ import annotations

import numpy as np

from portfolios.nearest import Index, find_nearest


def unit_rows(rng: np.random.Generator, rows: int, width: int) -> np.ndarray:
    vectors = rng.normal(size=(rows, width)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_small_sets_are_searched_in_full() -> None:
    rng = np.random.default_rng(0)
    known, asked = unit_rows(rng, 300, 16), unit_rows(rng, 9, 16)
    full, index = find_nearest(known, asked, 5), Index.of(known).search(asked, 5)
    np.testing.assert_array_equal(full.rows, index.rows)


def test_large_sets_find_almost_all_neighbours_and_the_same_ones_alone_or_together() -> None:
    rng = np.random.default_rng(1)
    centres = unit_rows(rng, 60, 192)
    known = centres[rng.integers(0, 60, 4000)] + 0.06 * rng.normal(size=(4000, 192)).astype(np.float32)
    known /= np.linalg.norm(known, axis=1, keepdims=True)
    asked = known[:40] + 0.03 * rng.normal(size=(40, 192)).astype(np.float32)
    asked = (asked / np.linalg.norm(asked, axis=1, keepdims=True)).astype(np.float32)
    full, index = find_nearest(known, asked, 20), Index.of(known.astype(np.float32)).search(asked, 20)
    found = [len(set(a) & set(b)) / 20 for a, b in zip(full.rows, index.rows, strict=True)]
    assert np.mean(found) > 0.95
    alone = np.concatenate([Index.of(known.astype(np.float32)).search(asked[i : i + 1], 20).rows for i in range(5)])
    np.testing.assert_array_equal(alone, index.rows[:5])
