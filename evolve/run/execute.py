"""execute(tree, input) -> Trace: the only place where a harness meets its models.

Whatever goes wrong inside a run becomes the trace's run status. Only a reached budget, a fault that would end every
other run too, and a bug leave this function.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evolve.core.errors import BudgetExceeded, HarnessFault, HeldoutSealed, UserError, WorldError
from evolve.core.hashing import JSONValue, derive_seed
from evolve.core.messages import Model
from evolve.core.protocols import Embedder, TreeStore
from evolve.core.traces import RunStatus, Spend, Step, Trace
from evolve.core.waiting import RunClock
from evolve.run.limits import MeteredModel, RunMeter
from evolve.run.prepare import PreparedHarness, Preparer
from workflows.kit import Kit


@dataclass(frozen=True, slots=True)
class RunKey:
    """Whose run this is. `loop` says which stage asked; `case` is a case fingerprint or a query id."""

    tree: str
    case: str
    repetition: int
    loop: str


BookedModels = Callable[[RunKey], tuple[Mapping[str, Model], Callable[[], Spend]]]
"""For one run: its models by role, already booked to their owner, and what they have cost so far."""


class Executor:
    """Runs trees. `models` binds the books to each run; runs of one tree share its compiled workflow."""

    def __init__(self, trees: TreeStore, models: BookedModels, embedder: Embedder | None) -> None:
        self._preparer = Preparer(trees)
        self._models = models
        self._embedder = embedder

    def prepare(self, tree: str) -> PreparedHarness:
        """The checked, compiled tree."""
        return self._preparer.prepare(tree)

    async def execute(self, key: RunKey, value: JSONValue) -> Trace:
        """One run. Raises BudgetExceeded, UserError (an invalid tree, a missing role) and WorldErrors that halt."""
        harness = self.prepare(key.tree)
        models, spent = self._models(key)
        require_roles(harness, models)
        limits = harness.manifest.limits
        meter = RunMeter(limits.max_calls, limits.max_tokens)
        kit = Kit(
            models={role: MeteredModel(m, meter) for role, m in models.items()},
            embedder=self._embedder,
            files=harness.files,
            tools=harness.tools,
            seed=derive_seed("run", key.case, key.repetition),
        )
        start = time.monotonic()
        ending = await _attempt(harness, value, kit)
        return Trace(
            tree=key.tree,
            case_fingerprint=key.case,
            repetition=key.repetition,
            status=ending.status,
            output=ending.output,
            error=ending.error,
            steps=ending.steps,
            spend=spent(),
            seconds=time.monotonic() - start,
            passing=ending.passing,
        )


def require_roles(harness: PreparedHarness, models: Mapping[str, Model]) -> None:
    """UserError when the harness names a model role that nobody configured."""
    needed = {role for role, need in harness.manifest.roles.items() if need == "required"}
    missing = sorted(needed - set(models))
    if missing:
        raise UserError(
            f"the harness needs the model role {missing[0]!r}",
            place="models",
            fix=f"add models.{missing[0]} to the campaign",
        )


@dataclass(frozen=True, slots=True)
class _Ending:
    """How a run ended, without its costs."""

    status: RunStatus
    steps: tuple[Step, ...]
    output: JSONValue = None
    error: str = ""
    passing: bool = True


async def _attempt(harness: PreparedHarness, value: JSONValue, kit: Kit) -> _Ending:
    """Runs the workflow under the harness's time limit and sorts what happened into a run status."""
    seconds = harness.manifest.limits.timeout_seconds
    steps: list[Step] = []

    def fault(error: str) -> _Ending:
        return _Ending(RunStatus.HARNESS_FAULT, tuple(steps), error=error)

    try:
        async with asyncio.timeout(seconds) as limit:
            with RunClock(limit).running():
                outcome = await harness.workflow.run(value, kit, steps=steps)
    except HarnessFault as own:
        return fault(str(own))
    except TimeoutError:
        return fault(f"timed out after {seconds:g} s (limits.timeout_seconds)")
    except WorldError as world:
        if world.halts:
            raise
        return _Ending(RunStatus.WORLD_FAULT, tuple(steps), error=str(world), passing=world.passing)
    except (BudgetExceeded, UserError, HeldoutSealed, asyncio.CancelledError):
        raise
    except Exception as crash:  # the door: a crash inside a harness is the harness's, and the campaign goes on
        return fault(f"crashed: {type(crash).__name__}: {crash}")
    return _Ending(RunStatus.FINISHED, outcome.steps, outcome.output)
