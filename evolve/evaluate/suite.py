"""Evaluates trees on cases: bounded concurrency, one result per key, faults retried and then missing.

What is already stored is never run again; two askers of one key share one run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evolve.books import JournalMode
from evolve.core.cases import Case, Split
from evolve.core.errors import BudgetExceeded, EvolveError, HeldoutSealed
from evolve.core.hashing import JSONValue, content_hash
from evolve.core.protocols import Scorer
from evolve.core.scores import Asked, Result, Score, Scorecard
from evolve.core.traces import RunStatus, Trace
from evolve.evaluate.outage import OutageWatch
from evolve.evaluate.scorers.base import FaultCounter, ScorerFault
from evolve.run.execute import Executor, RunKey
from evolve.run.trace_json import trace_document
from evolve.store.results import ResultStore, StoredResult

ENGINE = "operators@1"
"""Version of the operators' behaviour: raised when a change makes stored results incomparable."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One request: these cases of this split on this tree. `loop` says which stage pays."""

    tree: str
    cases: Sequence[Case]
    split: Split
    loop: str
    repetitions: int = 1


@dataclass(frozen=True)
class SuiteSettings:
    """`models` maps role → resolved model identity; `deadline` is a monotonic time after which no run starts."""

    campaign: str
    models: Mapping[str, str]
    concurrency: int = 2
    attempts: int = 3
    deadline: float | None = None
    journal: JournalMode = "full"
    """what stored traces keep of the texts in them"""
    on_result: Callable[[Evaluation, Result], None] = field(default=lambda _e, _r: None)
    seconds: Mapping[str, float] = field(default_factory=dict)
    """of a replay: result key → how long the recorded run took"""


class Suite:
    """Runs, scores and stores. One per campaign."""

    def __init__(self, executor: Executor, scorer: Scorer, results: ResultStore, settings: SuiteSettings) -> None:
        self._executor = executor
        self._scorer = scorer
        self._results = results
        self._settings = settings
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._flying: dict[str, asyncio.Task[Result]] = {}
        self._faults = FaultCounter()
        self._refused: dict[str, Result] = {}
        self._halted: EvolveError | None = None
        self._outage = OutageWatch()

    async def evaluate(self, evaluation: Evaluation) -> Scorecard:
        """The scorecard of one tree, in no particular order of completion.

        What a provider refused for good is missing, and is not asked for again while this suite lives. Raises
        BudgetExceeded when a cap is reached (what was paid is stored), WorldError when going on would measure nothing,
        UserError for a tree that cannot run or a scorer that fails on every case.
        """
        self._executor.prepare(evaluation.tree)
        wanted = {
            self.result_key(evaluation, case, rep): (case, rep)
            for case in evaluation.cases
            for rep in range(evaluation.repetitions)
        }
        found = {key: self._refused[key] for key in wanted if key in self._refused}
        found |= {key: row.result for key, row in self._stored(wanted).items()}
        rest = {key: pair for key, pair in wanted.items() if key not in found}
        fresh = await self._run_all(evaluation, rest)
        results: dict[tuple[str, int], Result] = {}
        for key, (case, rep) in wanted.items():
            results[(case.id, rep)] = replace(found.get(key) or fresh[key], case_id=case.id)
        return Scorecard(evaluation.tree, results)

    def result_key(self, evaluation: Evaluation, case: Case, repetition: int) -> str:
        """The identity of a result (design: "Result key")."""
        return content_hash(
            {
                "tree": evaluation.tree,
                "models": dict(self._settings.models),
                "engine": ENGINE,
                "scorer": self._scorer.identity,
                "split": evaluation.split.value,
                "case": case.fingerprint,
                "repetition": repetition,
            }
        )

    def stored_traces(self, evaluation: Evaluation) -> dict[str, Mapping[str, JSONValue]]:
        """Case id → the stored trace document of its first repetition, where there is one."""
        if evaluation.split is Split.HELDOUT:
            raise HeldoutSealed("traces of heldout cases are not shown")
        keys = {self.result_key(evaluation, case, 0): case.id for case in evaluation.cases}
        return {keys[key]: dict(row.trace) for key, row in self._stored(keys).items()}

    def _stored(self, keys: Iterable[str]) -> dict[str, StoredResult]:
        """Rows by key; a harness fault counts only inside the campaign in which it happened."""
        fault_keys = {key: self._fault_key(key) for key in keys}
        rows = self._results.get_many([*fault_keys, *fault_keys.values()])
        found = {key: rows.get(key) or rows.get(fault_key) for key, fault_key in fault_keys.items()}
        return {key: row for key, row in found.items() if row is not None}

    def _fault_key(self, key: str) -> str:
        return content_hash([key, "fault", self._settings.campaign])

    async def _run_all(self, evaluation: Evaluation, rest: Mapping[str, tuple[Case, int]]) -> dict[str, Result]:
        """Runs what is missing. After an error no run starts, those under way end and are kept, then it is raised."""
        tasks = {key: self._task(key, evaluation, case, rep) for key, (case, rep) in rest.items()}
        outcomes = await asyncio.gather(*tasks.values(), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise self._halted or outcome
        return dict(zip(tasks, (o for o in outcomes if isinstance(o, Result)), strict=True))

    def _task(self, key: str, evaluation: Evaluation, case: Case, repetition: int) -> asyncio.Task[Result]:
        if key not in self._flying:
            task = asyncio.create_task(self._one(key, evaluation, case, repetition))
            self._flying[key] = task
            task.add_done_callback(lambda _t: self._flying.pop(key, None))
        return self._flying[key]

    async def _one(self, key: str, evaluation: Evaluation, case: Case, repetition: int) -> Result:
        """One result: run and score, again after a fault of the world or the scorer, up to `attempts` times."""
        async with self._slots:
            try:
                self._check_stopped()
                run_key = RunKey(evaluation.tree, case.fingerprint, repetition, evaluation.loop)
                with self._outage.run() as watched:
                    trace, score = await self._persist(run_key, case)
                    watched.ended(trace)
            except EvolveError as error:
                self._halted = self._halted or error
                raise
        result = _result(case, repetition, trace, score)
        result = replace(result, seconds=self._settings.seconds.get(self._kept_key(key, result), result.seconds))
        if trace.status is RunStatus.WORLD_FAULT and not trace.passing:
            self._refused[key] = result
        await self._keep(key, evaluation, case, result, trace)
        self._settings.on_result(evaluation, result)
        return result

    async def _persist(self, key: RunKey, case: Case) -> tuple[Trace, Score]:
        """Attempts until there is a number, a harness fault, a fault that will not pass, or no attempt left."""
        trace, score = await self._attempt(key, case)
        for _ in range(self._settings.attempts - 1):
            if trace.status is RunStatus.HARNESS_FAULT or score.value is not None or not trace.passing:
                break
            trace, score = await self._attempt(key, case, trace)
        return trace, score

    async def _attempt(self, key: RunKey, case: Case, earlier: Trace | None = None) -> tuple[Trace, Score]:
        """Runs (unless only the scoring failed before) and scores."""
        if earlier is not None and earlier.status is RunStatus.FINISHED:
            trace = earlier
        else:
            trace = await self._executor.execute(key, case.input)
        if trace.status is not RunStatus.FINISHED:
            return trace, Score.ungraded(f"{trace.status.value}: {trace.error}")
        try:
            asked = Asked(case.input, key.tree, key.case, key.repetition, key.loop)
            score = await self._scorer.score(trace.output, case.expected, asked)
        except ScorerFault as fault:
            self._faults.failed(case.id, fault)
            return trace, Score.ungraded(f"scorer fault: {fault}")
        self._faults.succeeded()
        return trace, score

    async def _keep(self, key: str, evaluation: Evaluation, case: Case, result: Result, trace: Trace) -> None:
        """Stores what may be reused: finished and graded results for ever, harness faults for this campaign."""
        if result.value is None:
            return
        journal = self._settings.journal
        kept = result if journal == "full" else replace(result, score=Score(result.value, ""))
        row = StoredResult(
            key=self._kept_key(key, result),
            tree=evaluation.tree,
            split=evaluation.split.value,
            case_fingerprint=case.fingerprint,
            repetition=result.repetition,
            trace={**trace_document(trace, keep=journal), "campaign": self._settings.campaign},
            result=kept,
        )
        await self._results.put_async(row)

    def _kept_key(self, key: str, result: Result) -> str:
        return self._fault_key(key) if result.status is RunStatus.HARNESS_FAULT else key

    def _check_stopped(self) -> None:
        if self._halted is not None:
            raise self._halted
        deadline = self._settings.deadline
        if deadline is not None and time.monotonic() > deadline:
            raise BudgetExceeded("minutes", "one more run", "0")


def _result(case: Case, repetition: int, trace: Trace, score: Score) -> Result:
    return Result(
        case_id=case.id,
        repetition=repetition,
        status=trace.status,
        score=score,
        usd=trace.spend.usd,
        unpriced_calls=trace.spend.unpriced_calls,
        tokens=trace.spend.usage.total_tokens,
        calls=trace.spend.calls,
        seconds=trace.seconds,
    )
