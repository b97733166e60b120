"""When run after run fails outside the harness: what is an outage, and what is only a bad row."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from evolve.core.errors import WorldError
from evolve.core.traces import RunStatus, Spend, Trace
from evolve.evaluate.outage import OUTAGE_RUNS, OutageWatch


def trace(status: RunStatus, passing: bool = True, calls: int = 0) -> Trace:
    return Trace("t", "c", 0, status, error="down", passing=passing, spend=Spend(calls=calls))


DOWN = trace(RunStatus.WORLD_FAULT)
REFUSED = trace(RunStatus.WORLD_FAULT, passing=False)
ANSWERED = trace(RunStatus.FINISHED, calls=1)


def end(watch: OutageWatch, what: Trace, times: int = 1) -> None:
    for _ in range(times):
        with watch.run() as run:
            run.ended(what)


@pytest.mark.parametrize("fault", [DOWN, REFUSED])
def test_faults_in_a_row_from_the_beginning_are_an_outage_that_halts(fault: Trace) -> None:
    watch = OutageWatch()
    end(watch, fault, OUTAGE_RUNS - 1)
    with pytest.raises(WorldError, match=rf"{OUTAGE_RUNS} runs in a row .*down") as stopped:
        end(watch, fault)
    assert stopped.value.halts


def test_an_answer_ends_the_row() -> None:
    watch = OutageWatch()
    for _ in range(5):
        end(watch, DOWN, OUTAGE_RUNS - 1)
        end(watch, ANSWERED)
    with pytest.raises(WorldError):
        end(watch, DOWN, OUTAGE_RUNS)


def test_refusals_of_single_requests_are_no_outage_once_a_model_has_answered() -> None:
    watch = OutageWatch()
    end(watch, ANSWERED)
    end(watch, REFUSED, 10 * OUTAGE_RUNS)
    end(watch, DOWN, OUTAGE_RUNS - 1)
    with pytest.raises(WorldError):
        end(watch, DOWN)


def test_a_run_that_needed_no_model_does_not_show_that_one_answers() -> None:
    watch = OutageWatch()
    end(watch, trace(RunStatus.FINISHED))
    with pytest.raises(WorldError):
        end(watch, REFUSED, OUTAGE_RUNS)


def test_quick_faults_wait_for_the_runs_that_were_under_way_before_them() -> None:
    watch = OutageWatch()
    with ExitStack() as stack:
        slow = stack.enter_context(watch.run())
        end(watch, DOWN, 3 * OUTAGE_RUNS)
        slow.ended(ANSWERED)
    end(watch, DOWN, OUTAGE_RUNS - 1)
    with pytest.raises(WorldError):
        end(watch, DOWN)


def test_a_run_that_ends_in_an_error_is_no_longer_waited_for() -> None:
    watch = OutageWatch()
    with pytest.raises(ValueError, match="stop"), watch.run():
        raise ValueError("stop")
    with pytest.raises(WorldError):
        end(watch, DOWN, OUTAGE_RUNS)
