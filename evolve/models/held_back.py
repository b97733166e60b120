"""Stop texts that a provider does not apply: where a text ends at them, also while it is streamed."""

from __future__ import annotations

from collections.abc import Iterable


def find_stop(text: str, stops: Iterable[str]) -> int | None:
    """Where the stop sequence begins that is whole first, as if writing had ended with it; None where there is none."""
    ends = [(at + len(stop), at) for stop in stops if stop and (at := text.find(stop)) >= 0]
    return min(ends)[1] if ends else None


class HeldBack:
    """Text on its way to a follower, who must not hear a stop sequence, nor the beginning of what may become one."""

    def __init__(self, stops: tuple[str, ...]) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._held = ""
        self._over = False

    def pass_on(self, piece: str) -> str:
        """What may be heard now."""
        if self._over:
            return ""
        text = self._held + piece
        end = find_stop(text, self._stops)
        if end is not None:
            self._over = True
            self._held = ""
            return text[:end]
        keep = max((n for stop in self._stops for n in range(1, len(stop)) if text.endswith(stop[:n])), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def rest(self) -> str:
        """What was held back and has become no stop sequence."""
        return self._held
