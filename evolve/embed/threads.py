"""One thread for matrix products: with more threads than idle cores, numpy's OpenBLAS waits by spinning."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np


@contextmanager
def one_matrix_thread() -> Iterator[None]:
    """Matrix products of this process use one thread meanwhile; without numpy's own OpenBLAS nothing changes."""
    library = _find_openblas()
    if library is None:
        yield
        return
    before = library.scipy_openblas_get_num_threads64_()
    library.scipy_openblas_set_num_threads64_(1)
    try:
        yield
    finally:
        library.scipy_openblas_set_num_threads64_(before)


@lru_cache(maxsize=1)
def _find_openblas() -> ctypes.CDLL | None:
    """The OpenBLAS that numpy's wheel carries and has loaded."""
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    for path in sorted(folder.glob("libscipy_openblas64_*")):
        library = ctypes.CDLL(str(path))
        if hasattr(library, "scipy_openblas_set_num_threads64_"):
            return library
    return None
