"""Whether a provider answers more slowly than it used to, whatever the length of its answers."""

from __future__ import annotations

from collections import deque
from enum import Enum
from statistics import median

from evolve.core.messages import ModelReply

SLOW, VERY_SLOW = 1.75, 3.0
"""Times the usual pace from which the limit stays, and from which it falls."""
_OVERHEAD_TOKENS = 32
"""What a call costs before its first token, in tokens: label requests and long texts become comparable."""
_LEAST_ANSWERS = 8
_REMEMBERED = 32
_USUAL = 5
"""The usual pace is the lowest fifth of the remembered medians."""
_FASTEST = 0.003
"""Seconds a token below which all paces count as equal: about a tenth of a second for a short call."""
_STRIKES, _HELPED = 3, 0.9


class Reading(Enum):
    """What the last answers say."""

    USUAL = "usual"
    SLOW = "slow"
    VERY_SLOW = "very slow"


class PaceWatch:
    """Medians of seconds a token over windows of answers, against a low quantile of recent medians.

    When three very slow windows in a row have not become faster, although the limit fell after each, the work itself
    has changed, and the usual pace is learnt anew.
    """

    def __init__(self) -> None:
        self._paces: list[float] = []
        self._medians: deque[float] = deque(maxlen=_REMEMBERED)
        self._strikes = 0
        self._first_strike = 0.0

    def read(self, reply: ModelReply, window: int) -> Reading | None:
        """Notes an answer; a reading at the end of each window of `window` answers (at least 8), else None."""
        self._paces.append(reply.seconds / (reply.usage.completion_tokens + _OVERHEAD_TOKENS))
        if len(self._paces) < max(window, _LEAST_ANSWERS):
            return None
        now = median(self._paces)
        self._paces.clear()
        reading = self._compare(now)
        self._medians.append(now)
        return reading

    def _compare(self, now: float) -> Reading:
        if not self._medians:
            return Reading.USUAL
        usual = max(_FASTEST, sorted(self._medians)[len(self._medians) // _USUAL])
        if now <= VERY_SLOW * usual:
            self._strikes = 0
            return Reading.SLOW if now > SLOW * usual else Reading.USUAL
        if self._strikes == 0:
            self._first_strike = now
        self._strikes += 1
        if self._strikes < _STRIKES:
            return Reading.VERY_SLOW
        helped = now <= _HELPED * self._first_strike
        self._strikes = 0
        if helped:
            return Reading.VERY_SLOW
        self._medians.clear()
        return Reading.USUAL
