"""Numbers for equal requests of one step, so that each has a call key of its own."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from contextlib import contextmanager


class Occurrences:
    """The lowest free number first: a failed call gives its number back, and the next attempt takes it again."""

    def __init__(self) -> None:
        self._next: dict[tuple[str, str], int] = {}
        self._free: dict[tuple[str, str], list[int]] = {}

    @contextmanager
    def take(self, step: str, request_hash: str) -> Iterator[int]:
        """The number of one call; kept when the block ends well."""
        slot = (step, request_hash)
        free = self._free.get(slot)
        if free:
            number = heapq.heappop(free)
        else:
            number = self._next.get(slot, 0)
            self._next[slot] = number + 1
        try:
            yield number
        except BaseException:
            heapq.heappush(self._free.setdefault(slot, []), number)
            raise
