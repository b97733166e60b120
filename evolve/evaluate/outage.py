"""When run after run fails outside the harness, going on measures nothing: the evaluation stops and can be resumed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from evolve.core.errors import WorldError
from evolve.core.traces import RunStatus, Trace

OUTAGE_RUNS = 8
"""Runs in a row, each after its retries, that failed outside the harness."""


class WatchedRun:
    """One run under way, by its place in the order of beginning."""

    def __init__(self, watch: OutageWatch, number: int) -> None:
        self.number = number
        self._watch = watch

    def ended(self, trace: Trace) -> None:
        """Counts the end. WorldError that halts when this makes an outage."""
        self._watch.count(self, trace)


class OutageWatch:
    """Counts world faults in a row.

    An outage is OUTAGE_RUNS of them, with every run that was under way at the first one ended as well: faults are
    often faster than answers, and an answer that is still being written ends the row. A refusal that will not pass
    speaks of one request; it counts only while no
    model has answered at all.
    """

    def __init__(self) -> None:
        self._begun = 0
        self._under_way: set[int] = set()
        self._row = 0
        self._row_began = 0
        self._answered = False

    @contextmanager
    def run(self) -> Iterator[WatchedRun]:
        """A run under way for the length of the block."""
        watched = WatchedRun(self, self._begun)
        self._begun += 1
        self._under_way.add(watched.number)
        try:
            yield watched
        finally:
            self._under_way.discard(watched.number)

    def count(self, run: WatchedRun, trace: Trace) -> None:
        """Takes the end of one run into account."""
        if trace.status is not RunStatus.WORLD_FAULT:
            self._row, self._answered = 0, self._answered or trace.spend.calls > 0
            return
        if self._answered and not trace.passing:
            return
        if self._row == 0:
            self._row_began = self._begun
        self._row += 1
        self._under_way.discard(run.number)
        if self._row >= OUTAGE_RUNS and min(self._under_way, default=self._begun) >= self._row_began:
            raise WorldError(
                f"{self._row} runs in a row failed outside the harness, the last with: {trace.error}\n"
                "  fix: mend the cause, then go on with --resume; what is finished is kept",
                halts=True,
            )
