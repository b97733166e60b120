import asyncio
import random

import pytest

from evolve.core.errors import UserError, WorldError
from evolve.core.messages import Message, ModelRequest
from evolve.models import FixedSlots, OpenedModel, PromptTooLong, RetryingModel, RetryPolicy, ScriptedModel

REQUEST = ModelRequest((Message("user", "q"),))


class Stumbles:
    """A script that raises each of the given faults once, then answers."""

    def __init__(self, *faults: Exception) -> None:
        self.faults = list(faults)
        self.calls = 0

    def __call__(self, request: ModelRequest, rng: random.Random) -> str:
        self.calls += 1
        if self.faults:
            raise self.faults.pop(0)
        return "done"


def wrap(script: Stumbles, **policy: float) -> tuple[RetryingModel, list[float]]:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    return RetryingModel(ScriptedModel("s", script), RetryPolicy(**policy), sleep=sleep), waits  # type: ignore[arg-type]


async def test_passing_faults_are_retried_with_growing_waits() -> None:
    script = Stumbles(*(WorldError("busy") for _ in range(3)))
    model, waits = wrap(script)
    assert (await model.reply(REQUEST)).text == "done"
    assert script.calls == 4
    for wait, base in zip(waits, [0.5, 1.0, 2.0], strict=True):
        assert base <= wait <= base + 0.5


async def test_attempts_are_bounded_and_the_last_fault_is_raised() -> None:
    script = Stumbles(*(WorldError(f"busy {number}") for number in range(9)))
    model, waits = wrap(script, attempts=3)
    with pytest.raises(WorldError, match="busy 2"):
        await model.reply(REQUEST)
    assert (script.calls, len(waits)) == (3, 2)


@pytest.mark.parametrize(
    "fault", [WorldError("402", passing=False), UserError("no"), PromptTooLong("m", "9 of 8"), ValueError("bug")]
)
async def test_other_faults_are_raised_at_once(fault: Exception) -> None:
    script = Stumbles(fault)
    model, waits = wrap(script)
    with pytest.raises(type(fault)):
        await model.reply(REQUEST)
    assert (script.calls, waits) == (1, [])


async def test_a_short_wait_asked_for_is_waited() -> None:
    model, waits = wrap(Stumbles(WorldError("429", retry_after=30.0)))
    await model.reply(REQUEST)
    assert waits == [30.0]


async def test_a_long_wait_asked_for_is_not_waited() -> None:
    script = Stumbles(WorldError("429", retry_after=86_400.0))
    model, waits = wrap(script)
    with pytest.raises(WorldError) as caught:
        await model.reply(REQUEST)
    assert caught.value.retry_after == 86_400.0
    assert caught.value.halts
    assert (script.calls, waits) == (1, [])


async def test_no_more_calls_in_flight_than_the_limit() -> None:
    flying = most = 0

    class Counting(ScriptedModel):
        async def reply(self, request: ModelRequest) -> object:  # type: ignore[override]
            nonlocal flying, most
            flying += 1
            most = max(most, flying)
            reply = await super().reply(request)
            flying -= 1
            return reply

    model = OpenedModel(Counting("c", lambda request, rng: "x", 0.005), FixedSlots(3), RetryPolicy())
    await asyncio.gather(*(model.reply(REQUEST) for _ in range(20)))
    assert most == 3


async def test_wrappers_keep_the_face_of_the_model() -> None:
    inner = ScriptedModel("face", lambda request, rng: "x")
    outer = OpenedModel(RetryingModel(inner), FixedSlots(1), RetryPolicy())
    assert (outer.identity, outer.capabilities) == (inner.identity, inner.capabilities)
    await outer.close()
    await outer.close()


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        FixedSlots(0)


async def test_a_reply_that_has_begun_to_stream_is_not_asked_for_again() -> None:
    class Breaking(ScriptedModel):
        async def reply(self, request: ModelRequest) -> object:  # type: ignore[override]
            assert request.on_text is not None
            request.on_text("half an ans")
            raise WorldError("the stream broke", maybe_billed=True)

    heard: list[str] = []
    model = RetryingModel(Breaking("b", lambda request, rng: "x"), RetryPolicy())
    with pytest.raises(WorldError, match="broke"):
        await model.reply(ModelRequest((Message("user", "q"),), on_text=heard.append))
    assert heard == ["half an ans"]


async def test_a_fault_that_halts_is_never_retried() -> None:
    script = Stumbles(WorldError("the account is empty", halts=True))
    model, waits = wrap(script)
    with pytest.raises(WorldError, match="empty"):
        await model.reply(REQUEST)
    assert (script.calls, waits) == (1, [])


async def test_a_long_wait_halts_even_where_nothing_is_retried() -> None:
    model, _ = wrap(Stumbles(WorldError("429", retry_after=86_400.0)), attempts=1)
    with pytest.raises(WorldError, match="resume after") as caught:
        await model.reply(REQUEST)
    assert caught.value.halts
