"""Adaptive slots: fair, without leaks, and as fast as the provider allows. Time is virtual: loops here never wait."""

from __future__ import annotations

import asyncio
import random
import selectors
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.core.errors import WorldError
from evolve.core.messages import Message, ModelReply, ModelRequest, Usage
from evolve.models import AdaptiveSlots, FixedSlots, ModelSettings, OpenedModel, RetryPolicy, ScriptedModel, open_model
from evolve.models.adaptive import SlotSurroundings
from evolve.models.limit import START, AdaptiveLimit
from evolve.models.pace import PaceWatch, Reading

T = TypeVar("T")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BUSY = WorldError("429: busy", passing=True)


class _Skipping(selectors.SelectSelector):
    """Passes the time that a loop would wait at once."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped = 0.0

    def select(self, timeout: float | None = None) -> Any:
        self.skipped += max(0.0, timeout or 0.0)
        return super().select(0)


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.skipped


def virtually(work: Callable[[], Awaitable[T]]) -> T:
    """Runs `work` in a loop whose waits take no time."""
    with asyncio.Runner(loop_factory=_VirtualLoop) as runner:

        async def run() -> T:
            return await work()

        return runner.run(run())


def now() -> float:
    return asyncio.get_running_loop().time()


def make(most: int, heard: list[str] | None = None, seed: int = 0, **more: Any) -> AdaptiveSlots:
    tell = heard.append if heard is not None else (lambda _text: None)
    around = SlotSurroundings(clock=now, today=lambda: NOON, rng=random.Random(seed), tell=tell)
    return AdaptiveSlots(most, name="m", around=around, **more)


def reply(seconds: float = 1.0, tokens: int = 32) -> ModelReply:
    return ModelReply("x", usage=Usage(1, tokens), seconds=seconds)


class Provider:
    """Answers up to `capacity` calls at once after a second each, refuses the others at once."""

    def __init__(self, capacity: int, retry_after: float | None = None) -> None:
        self.capacity, self.retry_after = capacity, retry_after
        self.at_once = self.most = self.refused = self.answers = 0
        self.starts: list[float] = []

    async def ask(self, slots: AdaptiveSlots) -> bool:
        try:
            async with slots.take() as slot:
                self.starts.append(now())
                if self.at_once >= self.capacity:
                    self.refused += 1
                    await asyncio.sleep(0.02)
                    raise WorldError("429: busy", retry_after=self.retry_after)
                self.at_once += 1
                self.most = max(self.most, self.at_once)
                try:
                    await asyncio.sleep(1.0)
                finally:
                    self.at_once -= 1
                self.answers += 1
                slot.answered(reply())
                return True
        except WorldError as fault:
            if fault.halts:
                raise
            return False

    async def work(self, slots: AdaptiveSlots, calls: int, workers: int) -> float:
        """Seconds until `calls` answers were had."""
        began, left = now(), calls

        async def worker() -> None:
            nonlocal left
            while left > 0:
                left -= 1
                while not await self.ask(slots):
                    await asyncio.sleep(0.5)

        await asyncio.gather(*(worker() for _ in range(workers)))
        return now() - began


def test_it_reaches_the_most_and_stays_there_when_nobody_refuses() -> None:
    async def run() -> tuple[float, Any]:
        slots, provider = make(64), Provider(1000)
        return await provider.work(slots, 2000, 64), slots.state()

    seconds, state = virtually(run)
    assert (state.start, state.lowest, state.highest, state.refusals) == (START, START, 64, 0)
    assert seconds < 1.25 * 2000 / 64


@pytest.mark.parametrize("capacity", [1, 3, 16, 40])
def test_it_keeps_near_the_capacity_of_a_provider_that_refuses_what_is_over(capacity: int) -> None:
    async def run() -> tuple[float, Provider, Any]:
        slots, provider = make(128), Provider(capacity)
        return await provider.work(slots, 60 * capacity, 128), provider, slots.state()

    seconds, provider, state = virtually(run)
    assert provider.answers == 60 * capacity
    assert 60 / seconds > 0.75
    assert provider.refused < 0.25 * provider.answers + 2 * START
    assert state.in_flight == state.waiting == 0


def test_one_burst_of_refusals_halves_once() -> None:
    async def run() -> tuple[list[int], list[str]]:
        heard: list[str] = []
        slots = make(16, heard)
        for _ in range(30):
            async with asyncio.TaskGroup() as group:
                for _ in range(16):
                    group.create_task(Provider(99).ask(slots))
        before = slots.state().limit
        burst = [Provider(0).ask(slots) for _ in range(16)]
        await asyncio.gather(*burst)
        after = slots.state().limit
        await Provider(0).ask(slots)
        return [before, after, slots.state().limit, slots.state().refusals], heard

    limits, heard = virtually(run)
    assert limits[:2] == [16, 8]
    assert limits[2] < 8, "a call that began after the cut counts again"
    assert limits[3] == 17
    assert heard[0] == "m: calls in flight lowered from 16 to 8 (429: busy)"


def test_a_wait_that_one_call_is_asked_for_holds_every_call_and_they_begin_one_after_the_other() -> None:
    async def run() -> tuple[list[float], Any, list[str]]:
        heard: list[str] = []
        slots, starts = make(8, heard), []

        async def call() -> None:
            async with slots.take():
                starts.append(now())
                await asyncio.sleep(0.01)

        with pytest.raises(WorldError):
            async with slots.take():
                raise WorldError("429", retry_after=20.0)
        await asyncio.gather(*(call() for _ in range(6)))
        return starts, slots.state(), heard

    starts, state, heard = virtually(run)
    assert 20.0 <= starts[0] <= 22.0
    assert len(set(starts)) == 6
    assert starts == sorted(starts)
    assert (state.pauses, state.in_flight) == (1, 0)
    assert state.seconds_paused == pytest.approx(starts[0])
    assert any("asks to wait 20 s" in text for text in heard)


def test_a_longer_wait_than_is_waited_for_ends_all_who_wait_and_all_who_come_until_it_has_passed() -> None:
    async def run() -> tuple[list[Any], float, bool]:
        slots = make(1, longest_asked=60.0)

        async def ask(seconds: float) -> None:
            async with slots.take():
                await asyncio.sleep(seconds)
                raise WorldError("429: come back tomorrow", retry_after=86_400.0)

        outcomes = await asyncio.gather(*(ask(1.0) for _ in range(5)), return_exceptions=True)
        with pytest.raises(WorldError) as late:
            await ask(1.0)
        took = now()
        await asyncio.sleep(86_400.0)
        async with slots.take():
            reopened = True
        return [*outcomes, late.value], took, reopened

    outcomes, took, reopened = virtually(run)
    assert reopened
    assert took == pytest.approx(1.0)
    assert not outcomes[0].halts, "the call itself is judged by its retries"
    assert all(isinstance(fault, WorldError) and fault.halts for fault in outcomes[1:])
    assert "resume after 2026-01-02 12:00 UTC" in str(outcomes[1])
    assert outcomes[-1].retry_after == pytest.approx(86_400.0)


def test_those_who_wait_are_served_in_order_of_arrival() -> None:
    async def run() -> list[int]:
        slots, served = make(3), []

        async def call(number: int) -> None:
            async with slots.take():
                served.append(number)
                await asyncio.sleep(random.Random(number).random())

        await asyncio.gather(*(call(number) for number in range(40)))
        return served

    assert virtually(run) == list(range(40))


def test_refusals_of_one_request_and_other_errors_say_nothing_about_the_provider() -> None:
    async def run() -> Any:
        slots = make(8)
        for fault in (
            WorldError("400", passing=False),
            ValueError("bug"),
            WorldError("401", passing=False, halts=True),
        ):
            with pytest.raises(type(fault)):
                async with slots.take():
                    raise fault
        return slots.state()

    state = virtually(run)
    assert (state.limit, state.lowest, state.refusals, state.in_flight) == (START, START, 0, 0)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), most=st.integers(1, 12), jobs=st.integers(1, 60))
def test_whatever_is_cancelled_or_fails_no_slot_is_lost_and_nobody_starves(seed: int, most: int, jobs: int) -> None:
    async def run() -> tuple[Any, int, int]:
        rng, slots = random.Random(seed), make(most, seed=seed)
        inside = seen = 0

        async def job() -> None:
            try:
                await call()
            finally:
                if rng.random() < 0.3:
                    rng.choice(tasks).cancel()  # often one that was given this slot a moment ago

        async def call() -> None:
            nonlocal inside, seen
            await asyncio.sleep(rng.random() * 3)
            async with slots.take() as slot:
                inside += 1
                seen = max(seen, inside)
                try:
                    await asyncio.sleep(rng.choice([0.0, rng.random()]))
                    chance = rng.random()
                    if chance < 0.2:
                        raise WorldError("429", retry_after=rng.choice([None, 0.3, 2.0]))
                    if chance < 0.3:
                        raise WorldError("timed out", maybe_billed=True)
                    if chance < 0.4:
                        raise ValueError("bug")
                    slot.answered(reply(rng.random()))
                finally:
                    inside -= 1

        async def strike(task: asyncio.Task[None]) -> None:
            await asyncio.sleep(rng.choice([rng.random() * 6, 1.0, 2.0]))
            task.cancel()

        tasks = [asyncio.create_task(job()) for _ in range(jobs)]
        strikes = [asyncio.create_task(strike(task)) for task in tasks if rng.random() < 0.4]
        async with asyncio.timeout(10_000):
            await asyncio.gather(*tasks, *strikes, return_exceptions=True)
        state = slots.state()
        await asyncio.gather(*(Provider(99).ask(slots) for _ in range(3 * most)))
        return slots.state(), seen, state.in_flight + state.waiting

    state, seen, left = virtually(run)
    assert left == state.in_flight == state.waiting == 0
    assert 1 <= state.lowest <= state.limit <= state.highest <= most
    assert seen <= state.highest


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
async def test_one_who_is_cancelled_just_as_a_slot_is_given_passes_it_on(before: bool) -> None:
    slots, served = AdaptiveSlots(1), []

    async def call(number: int) -> None:
        async with slots.take():
            served.append(number)

    async with slots.take():
        first, second = asyncio.create_task(call(1)), asyncio.create_task(call(2))
        await asyncio.sleep(0)
        assert slots.state().waiting == 2
        if before:
            first.cancel()
    assert slots.state().in_flight == 1, "the slot is given on at once"
    first.cancel()
    await asyncio.wait_for(second, 5)
    assert served == [2]
    assert slots.state().in_flight == 0


def test_pace_compares_calls_of_any_length_and_sees_a_slow_provider() -> None:
    watch, rng = PaceWatch(), random.Random(1)

    def window(factor: float) -> Reading | None:
        readings = []
        for _ in range(8):
            tokens = rng.choice([1, 40, 400])
            readings.append(watch.read(reply(factor * (0.4 + tokens / 80) * rng.uniform(0.8, 1.2), tokens), 4))
        assert readings[:-1] == [None] * 7
        return readings[-1]

    assert {window(1.0) for _ in range(20)} == {Reading.USUAL}
    assert window(2.2) is Reading.SLOW
    assert window(5.0) is Reading.VERY_SLOW
    assert window(1.0) is Reading.USUAL


def test_slowness_that_fewer_calls_do_not_cure_becomes_the_usual_pace() -> None:
    limit = AdaptiveLimit(64)
    for _ in range(600):
        limit.answered(reply(1.0), full=True)
    assert limit.now == 64
    seen = set()
    for _ in range(3000):
        limit.answered(reply(5.0), full=True)
        seen.add(limit.now)
    assert 40 < min(seen) < 60
    assert limit.now == 64


def test_a_limit_that_is_not_used_does_not_grow() -> None:
    limit = AdaptiveLimit(64)
    for _ in range(100):
        limit.answered(reply(), full=False)
    assert limit.now == START


async def test_a_call_lost_on_the_way_takes_less_than_a_refusal() -> None:
    lost, refused = AdaptiveSlots(4), AdaptiveSlots(4)
    for slots, fault in ((lost, WorldError("timed out", maybe_billed=True)), (refused, BUSY)):
        async with slots.take(), slots.take(), slots.take():
            with pytest.raises(WorldError):
                async with slots.take():
                    raise fault
    assert (lost.state().limit, refused.state().limit) == (3, 2)


async def test_the_registry_gives_openai_adaptive_slots_unless_it_is_told_not_to() -> None:
    heard: list[str] = []
    settings = ModelSettings(model="openai:m", base_url="http://127.0.0.1:9/v1", concurrency=3)
    model = open_model(settings, environment={}, tell=heard.append)
    fixed = open_model(settings.model_copy(update={"adaptive": False}), environment={})
    assert isinstance(model.slots, AdaptiveSlots)
    assert isinstance(fixed.slots, FixedSlots)
    assert model.slots.state().limit == 3
    with pytest.raises(WorldError):
        async with model.slots.take(), model.slots.take(), model.slots.take():
            raise BUSY
    assert heard == ["openai:m: calls in flight lowered from 3 to 1 (429: busy)"]
    await model.close()
    await fixed.close()


async def test_retries_inside_adaptive_slots_get_their_answer() -> None:
    faults: list[Exception] = [BUSY, WorldError("503", retry_after=0.05)]

    def answer(_request: ModelRequest, _rng: random.Random) -> str:
        if faults:
            raise faults.pop(0)
        return "fine"

    slots = AdaptiveSlots(4)
    model = OpenedModel(ScriptedModel("s", answer), slots, RetryPolicy(first_wait=0.01, jitter=0.01))
    assert (await model.reply(ModelRequest((Message("user", "q"),)))).text == "fine"
    assert (slots.state().refusals, slots.state().answers, slots.state().in_flight) == (2, 1, 0)


def test_a_most_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        AdaptiveSlots(0)
