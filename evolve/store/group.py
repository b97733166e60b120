"""Group commit: one thread writes the rows of many waiting callers in one transaction."""

from __future__ import annotations

import asyncio
import queue
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.sql.dml import Insert

from evolve.core.errors import WorldError

SWITCH_SECONDS = 0.0005
LARGEST_GROUP = 1024
"""Rows in one transaction at most, so that other processes get their turn."""

Row = dict[str, Any]


@dataclass(slots=True)
class _Entry:
    statement: Insert
    row: Row
    future: asyncio.Future[None] | None


class GroupWriter:
    """Owns the writer thread. It starts with the first row and ends with `close`, which writes what is waiting.

    Rows of one call to `write` or `post` are never split; rows that are posted in order by one caller are committed in
    that order or together.
    """

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction
        self._queue: queue.SimpleQueue[_Entry | threading.Event | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._lock = threading.Lock()

    def write(self, statement: Insert, row: Row) -> asyncio.Future[None]:
        """Queues a row; the future resolves after the commit that holds it. WorldError when that commit failed."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._enqueue(_Entry(statement, row, future))
        return future

    def post(self, statement: Insert, row: Row) -> None:
        """Queues a row that nobody waits for: losing it must be harmless to its reader."""
        self._enqueue(_Entry(statement, row, None))

    def flush(self) -> None:
        """Returns once everything that was queued before is committed, or has failed."""
        with self._lock:
            if self._thread is None:
                return
            passed = threading.Event()
            self._queue.put(passed)
        passed.wait()

    def close(self) -> None:
        """Commits what is queued and ends the thread; safe to call twice."""
        with self._lock:
            self._closed = True
            thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            thread.join()

    def _enqueue(self, entry: _Entry) -> None:
        if self._thread is None:
            self._start()
        self._queue.put(entry)

    def _start(self) -> None:
        with self._lock:
            if self._closed:
                raise WorldError("the home was closed while something was still being written", passing=False)
            if self._thread is None:
                # The event loop asks for the interpreter a thousand times a second; at the default of 5 ms it would
                # stand still for as long whenever this thread is between two statements.
                sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_SECONDS))
                self._thread = threading.Thread(target=self._run, name="evolve-group-writer", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        end: threading.Event | bool = False
        while end is not True:
            group, end = self._next_group()
            if group:
                self._commit(group)
            if isinstance(end, threading.Event):
                end.set()

    def _next_group(self) -> tuple[list[_Entry], threading.Event | bool]:
        """Waits for one row, then takes all that came meanwhile.

        The second value is True after the end mark, or who waits for everything up to here.
        """
        group: list[_Entry] = []
        entry = self._queue.get()
        with suppress(queue.Empty):
            while isinstance(entry, _Entry):
                group.append(entry)
                if len(group) == LARGEST_GROUP:
                    return group, False
                entry = self._queue.get_nowait()
        return group, entry if isinstance(entry, threading.Event) else entry is None

    def _commit(self, group: Sequence[_Entry]) -> None:
        try:
            self._write_group(group)
        except WorldError as error:
            _resolve(group, error)
        except Exception as error:  # the thread's door: one bad row must not fail the others, nor leave anybody waiting
            if len(group) == 1:
                _resolve(group, error)
            else:
                for entry in group:
                    self._commit([entry])
        else:
            _resolve(group, None)

    def _write_group(self, group: Sequence[_Entry]) -> None:
        by_statement: dict[Insert, list[Row]] = {}
        for entry in group:
            by_statement.setdefault(entry.statement, []).append(entry.row)
        with self._transaction() as connection:
            for statement, rows in by_statement.items():
                connection.execute(statement, rows)


def _resolve(group: Sequence[_Entry], error: Exception | None) -> None:
    """Wakes each event loop once, whatever the number of its futures."""
    by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for entry in group:
        if entry.future is not None:
            by_loop.setdefault(entry.future.get_loop(), []).append(entry.future)
    for loop, futures in by_loop.items():
        with suppress(RuntimeError):  # the loop ended without waiting for its rows; they are committed all the same
            loop.call_soon_threadsafe(_wake, futures, error)


def _wake(futures: Sequence[asyncio.Future[None]], error: Exception | None) -> None:
    for future in futures:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
