"""Evaluation results by result key: two results with one key are one result, and the first write wins."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any

from sqlalchemy import RowMapping, select

from evolve.core.hashing import JSONValue
from evolve.core.scores import Result, Score
from evolve.core.traces import RunStatus
from evolve.store.database import Database
from evolve.store.packing import json_text, pack_json, unpack_json
from evolve.store.sqlite import insert_new
from evolve.store.tables import results

_CHUNK = 500


@dataclass(frozen=True)
class StoredResult:
    """A result and the JSON document of its trace. `key` is a content hash over everything that could change it."""

    key: str
    tree: str
    split: str
    case_fingerprint: str
    repetition: int
    trace: JSONValue
    result: Result


class ResultStore:
    """Results by key. One without a number (a world fault, an ungraded answer) is never kept; secrets are redacted."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._insert = insert_new(results)

    def get(self, key: str) -> StoredResult | None:
        """The result with this key."""
        return self.get_many([key]).get(key)

    def get_many(self, keys: Iterable[str]) -> dict[str, StoredResult]:
        """The results that exist, by key."""
        found: dict[str, StoredResult] = {}
        with self._database.read() as connection:
            for chunk in _chunks(keys):
                rows = connection.execute(select(results).where(results.c.key.in_(chunk))).mappings()
                found.update((row["key"], _stored(row)) for row in rows)
        return found

    def iter(self) -> Iterator[StoredResult]:
        """Every result without its trace, in the order of their keys, page by page."""
        last = ""
        fields = [column for column in results.c if column.name != "trace"]
        while True:
            query = select(*fields).where(results.c.key > last).order_by(results.c.key).limit(_CHUNK)
            with self._database.read() as connection:
                rows = connection.execute(query).mappings().all()
            yield from (_stored(row) for row in rows)
            if len(rows) < _CHUNK:
                return
            last = rows[-1]["key"]

    def put(self, row: StoredResult) -> bool:
        """Keeps a result; returns once it is durable. False, and nothing is kept, when it carries no number."""
        if row.result.value is None:
            return False
        with self._database.write() as connection:
            connection.execute(self._insert, self._columns(row))
        return True

    async def put_async(self, row: StoredResult) -> bool:
        """As `put`, sharing its commit with whatever else is written at that moment."""
        if row.result.value is None:
            return False
        await self._database.group.write(self._insert, self._columns(row))
        return True

    def _columns(self, row: StoredResult) -> dict[str, Any]:
        clean = self._database.redactor.value
        return {
            "key": row.key,
            "created_at": self._database.now(),
            "tree": row.tree,
            "split": row.split,
            "case_fingerprint": row.case_fingerprint,
            "repetition": row.repetition,
            "result": json_text(clean(_result_document(row.result))),
            "trace": pack_json(clean(row.trace)),
        }


def _chunks(keys: Iterable[str]) -> Iterator[Sequence[str]]:
    rest = iter(keys)
    while chunk := list(islice(rest, _CHUNK)):
        yield chunk


def _stored(row: RowMapping) -> StoredResult:
    return StoredResult(
        key=row["key"],
        tree=row["tree"],
        split=row["split"],
        case_fingerprint=row["case_fingerprint"],
        repetition=row["repetition"],
        trace=unpack_json(row["trace"]) if "trace" in row else None,
        result=_read_result(json.loads(row["result"])),
    )


def _result_document(result: Result) -> dict[str, JSONValue]:
    return {
        "case_id": result.case_id,
        "repetition": result.repetition,
        "status": result.status.value,
        "value": result.score.value,
        "reason": result.score.reason,
        "usd": str(result.usd),
        "unpriced_calls": result.unpriced_calls,
        "tokens": result.tokens,
        "calls": result.calls,
        "seconds": result.seconds,
    }


def _read_result(document: dict[str, Any]) -> Result:
    score = Score(document.pop("value"), document.pop("reason"))
    status = RunStatus(document.pop("status"))
    return Result(score=score, status=status, usd=Decimal(document.pop("usd")), **document)
