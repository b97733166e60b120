"""Accounts: what a campaign has spent so far, by who asked."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Literal

from evolve.core.traces import Spend

Part = Literal["role", "loop", "candidate"]


@dataclass(frozen=True, slots=True)
class Account:
    """What spending is counted by; None in a question means any."""

    role: str | None = None
    loop: str | None = None
    candidate: str | None = None

    def covers(self, other: Account) -> bool:
        """Whether `other` is what this one asks for."""
        mine, theirs = (self.role, self.loop, self.candidate), (other.role, other.loop, other.candidate)
        return all(want is None or want == have for want, have in zip(mine, theirs, strict=True))


class Accounts:
    """Sums by account. Threads may share it."""

    def __init__(self) -> None:
        self._totals: dict[Account, Spend] = {}
        self._lock = threading.Lock()

    def add(self, account: Account, spend: Spend) -> None:
        """Counts one call."""
        with self._lock:
            self._totals[account] = self._totals.get(account, Spend()) + spend

    def total(self, wanted: Account) -> Spend:
        """The sum of all accounts that `wanted` covers."""
        with self._lock:
            return sum((spend for account, spend in self._totals.items() if wanted.covers(account)), Spend())

    def by(self, part: Part) -> dict[str, Spend]:
        """The sums by one part, in the order of their first calls."""
        sums: dict[str, Spend] = {}
        with self._lock:
            for account, spend in self._totals.items():
                name: str = getattr(account, part)
                sums[name] = sums.get(name, Spend()) + spend
        return sums
