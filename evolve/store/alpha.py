"""The error budget: how much alpha each heldout case has spent, across campaigns, whatever its file is called."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlalchemy import Connection, func, select

from evolve.core.errors import UserError
from evolve.core.hashing import content_hash
from evolve.store.database import Database
from evolve.store.tables import alpha_reservations, alpha_spends

_CHUNK = 500
_ROUNDING = 1e-9
"""Shares of a budget that add up to it in decimals may exceed it by this fraction in binary."""


class AlphaStore:
    """Reserves alpha for cases by the hash of their text, before the first look at them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def spent(self, text_keys: Sequence[str]) -> dict[str, float]:
        """What each case has spent so far; 0 for one that was never looked at."""
        with self._database.read() as connection:
            return _spent_in(connection, text_keys)

    def reserved(self, key: str) -> float | None:
        """What this key has reserved; None when nothing yet."""
        with self._database.read() as connection:
            row = _reservation(connection, key)
            return row[0] if row is not None else None

    def reserve(self, text_keys: Sequence[str], alpha: float, *, budget: float, campaign: str, key: str) -> float:
        """Spends `alpha` in (0, budget] on every case, all or none, durably, and returns what was spent.

        A repeated `key` spends nothing more and returns what it spent the first time. UserError when a case would
        exceed `budget`, or when the key was used for other cases.
        """
        cases = sorted(set(text_keys))
        with self._database.write() as connection:
            earlier = _reservation(connection, key)
            if earlier is not None:
                return _same_cases(earlier, cases, key)
            if not (math.isfinite(alpha) and alpha > 0 and cases):
                raise UserError(f"alpha {alpha} on {len(cases)} cases cannot be reserved", place="gate")
            _refuse_overspending(_spent_in(connection, cases), alpha, budget)
            self._spend_in(connection, cases, alpha, budget=budget, campaign=campaign, key=key)
        return alpha

    def _spend_in(
        self, connection: Connection, cases: Sequence[str], alpha: float, *, budget: float, campaign: str, key: str
    ) -> None:
        now = self._database.now()
        row = {
            "key": key,
            "created_at": now,
            "campaign": campaign,
            "alpha": alpha,
            "budget": budget,
            "cases_hash": content_hash(list(cases)),
        }
        connection.execute(alpha_reservations.insert(), row)
        spends = [{"text_key": case, "key": key, "created_at": now, "alpha": alpha} for case in cases]
        connection.execute(alpha_spends.insert(), spends)


def _reservation(connection: Connection, key: str) -> tuple[float, str] | None:
    table = alpha_reservations.c
    row = connection.execute(select(table.alpha, table.cases_hash).where(table.key == key)).one_or_none()
    return (row.alpha, row.cases_hash) if row is not None else None


def _same_cases(earlier: tuple[float, str], cases: Sequence[str], key: str) -> float:
    alpha, cases_hash = earlier
    if cases_hash != content_hash(list(cases)):
        raise UserError(f"{key!r} has reserved alpha for other cases", place="gate", fix="start a new campaign")
    return alpha


def _refuse_overspending(spent: dict[str, float], alpha: float, budget: float) -> None:
    most = max(spent.values())
    if most + alpha > budget * (1 + _ROUNDING):
        full = sum(1 for s in spent.values() if s + alpha > budget * (1 + _ROUNDING))
        raise UserError(
            f"{full} of {len(spent)} heldout cases have at most {max(0.0, budget - most):.6g} of their error budget "
            f"{budget:g} left, and this test needs {alpha:.6g}",
            place="heldout",
            fix="bring fresh cases in with `evolve data renew`",
        )


def _spent_in(connection: Connection, text_keys: Sequence[str]) -> dict[str, float]:
    totals = dict.fromkeys(text_keys, 0.0)
    keys = list(totals)
    table = alpha_spends.c
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        query = select(table.text_key, func.sum(table.alpha)).where(table.text_key.in_(chunk)).group_by(table.text_key)
        totals.update((row[0], row[1]) for row in connection.execute(query))
    return totals
