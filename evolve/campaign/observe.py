"""Progress of a campaign as events. Observers are told and cannot change anything."""

from __future__ import annotations

from typing import Any, Protocol


class Observer(Protocol):
    """Called with an event name and its fields; must return quickly and must not raise."""

    def __call__(self, event: str, **fields: Any) -> None:
        """Events: stage(name), run(loop, status, value), proposal(…), accepted(…), look(…), note(text)."""
        ...


def silent(event: str, **fields: Any) -> None:
    """Observes nothing."""
