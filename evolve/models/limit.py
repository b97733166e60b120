"""How many calls a provider takes at once, learnt from its answers and refusals: additive up, multiplicative down."""

from __future__ import annotations

from evolve.core.messages import ModelReply
from evolve.models.pace import PaceWatch, Reading

START = 4
HALF, GENTLE = 0.5, 0.9
_NEAR = 0.9
"""The share of the last refused number up to which growth is quick again."""
_PATIENT, _MOST_PATIENT = 2, 16
"""Windows before a number that was refused is tried again."""


class AdaptiveLimit:
    """A whole number between 1 and `most`.

    A window is as many answers as the limit. After one that used the whole limit, the limit grows by one. Growth is
    one an answer before the first refusal, and later up to `_NEAR` of the number that was refused last; onto that
    number it goes after two windows, and after twice as many each time that it is refused again. Answers that come
    slowly stop the growth; very slow ones take a tenth.
    """

    def __init__(self, most: int) -> None:
        if most < 1:
            raise ValueError(f"most is at least 1, not {most}")
        self._most = most
        self.now = self.start = self.lowest = self.highest = min(START, most)
        self.epoch = 0
        """how often the limit was cut"""
        self._quick_below = float(most)
        self._refused_at = most + 1
        self._patience = 1
        self._answers = 0
        self._pace = PaceWatch()
        self._slow = False

    def answered(self, reply: ModelReply, *, full: bool) -> None:
        """Learns from an answer. `full`: all the calls that the limit allows were in flight."""
        reading = self._pace.read(reply, self.now)
        if reading is not None:
            self._slow = reading is not Reading.USUAL
        if self._slow:
            self._quick_below = min(self._quick_below, float(self.now))
        if reading is Reading.VERY_SLOW:
            self.cut(GENTLE, self.epoch, self.now)
        elif full and not self._slow:
            self._grow()

    def cut(self, share: float, epoch: int, in_flight: int) -> bool:
        """Keeps `share` of what is in flight, at least 1; False when a call of an older epoch is heard too late."""
        if epoch != self.epoch:
            return False
        used = min(self.now, max(1, in_flight))
        if share == HALF:
            self._remember(used)
        self.epoch += 1
        self._answers = 0
        self._set(min(used - 1, int(used * share)))
        return True

    def _remember(self, refused: int) -> None:
        self._quick_below = _NEAR * refused
        self._patience = min(_MOST_PATIENT, 2 * self._patience) if refused == self._refused_at else _PATIENT
        self._refused_at = refused

    def _grow(self) -> None:
        self._answers += 1
        windows = self._patience if self.now + 1 == self._refused_at else 1
        if self.now < self._quick_below - 1 or self._answers >= windows * self.now:
            self._answers = 0
            self._set(self.now + 1)

    def _set(self, limit: int) -> None:
        self.now = min(self._most, max(1, limit))
        self.lowest = min(self.lowest, self.now)
        self.highest = max(self.highest, self.now)
