"""Values derived from tree files (parsed rows, schemas, embeddings), computed once for each compiled workflow."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")

MAX_ENTRIES = 64


class Memo:
    """A small cache keyed by what the value is made from, so that it can never change an output, only its cost.

    Model replies never enter it: which run pays for a call must not depend on which run came first.
    Safe across threads; a value that is being computed is waited for, while other keys stay free.
    """

    def __init__(self) -> None:
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, build: Callable[[], T]) -> T:
        """The value for `key`, built when it is new. A builder that raises is asked again next time."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            if len(self._entries) > MAX_ENTRIES:
                self._entries.popitem(last=False)
        value: T = entry.get(build)
        return value


class _Entry:
    """One value and whether it is there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: list[Any] = []

    def get(self, build: Callable[[], Any]) -> Any:
        with self._lock:
            if not self._values:
                self._values.append(build())
            return self._values[0]
