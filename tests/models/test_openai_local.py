"""The openai provider against a real server of an open model (llama.cpp), in every form and in streams."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from evolve.core.errors import WorldError
from evolve.core.messages import Message, ModelRequest, ToolCall, ToolSpec
from evolve.models import PromptTooLong
from evolve.models.local import Worker, WorkerPlan
from evolve.models.local.weights import find_weights
from evolve.models.openai import OpenAIModel
from evolve.models.openai_endpoint import OpenAIEndpoint

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = (Message("user", "What is the capital of France?"),)
ADD = ToolSpec("add", "adds", {"type": "object", "properties": {"a": {"type": "integer"}}})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def worker() -> AsyncIterator[Worker]:
    running = Worker(WorkerPlan("local:smollm2-135m", find_weights("smollm2-135m"), context_tokens=512))
    try:
        await running.start()
        yield running
    finally:
        await running.close()


@pytest_asyncio.fixture(loop_scope="module", params=["chat", "responses"])
async def model(request: pytest.FixtureRequest, worker: Worker) -> AsyncIterator[OpenAIModel]:
    opened = OpenAIModel(endpoint_of(worker, api=request.param))
    yield opened
    await opened.close()


def endpoint_of(worker: Worker, **more: Any) -> OpenAIEndpoint:
    return OpenAIEndpoint("smollm2", f"{worker.address}/v1", key=worker.key, **more)


@pytest.mark.parametrize(
    "turns", [QUESTION, (*QUESTION, Message("assistant", "Paris."), Message("user", "And Spain?"))]
)
async def test_a_streamed_reply_is_the_same_as_a_whole_one(model: OpenAIModel, turns: tuple[Message, ...]) -> None:
    whole = await model.reply(ModelRequest(turns, max_tokens=12))
    heard: list[str] = []
    streamed = await model.reply(ModelRequest(turns, max_tokens=12, on_text=heard.append))
    assert len(heard) > 1
    assert "".join(heard) == streamed.text == whole.text
    assert streamed.finish_reason == whole.finish_reason
    assert streamed.usage.completion_tokens == whole.usage.completion_tokens > 0
    assert streamed.usage.prompt_tokens == whole.usage.prompt_tokens > 0


async def test_a_stop_sequence_ends_a_reply_also_where_it_is_cut_here(model: OpenAIModel) -> None:
    whole = await model.reply(ModelRequest(QUESTION, max_tokens=12))
    stop = whole.text.split()[2]
    heard: list[str] = []
    stopped = await model.reply(ModelRequest(QUESTION, max_tokens=12, stop=(stop,), on_text=heard.append))
    assert stopped.text == "".join(heard) == whole.text.partition(stop)[0]
    assert stopped.finish_reason == "stop"


async def test_a_plain_reply_streams(worker: Worker) -> None:
    model = OpenAIModel(endpoint_of(worker))
    heard: list[str] = []
    request = ModelRequest(
        (Message("user", "The capital of France is"),), max_tokens=4, style="plain", on_text=heard.append
    )
    reply = await model.reply(request)
    await model.close()
    assert "Paris" in reply.text
    assert "".join(heard) == reply.text
    assert reply.usage.completion_tokens == 4


async def test_tools_and_their_results_are_taken(model: OpenAIModel) -> None:
    call = ToolCall("call_1", "add", '{"a": 1}')
    turns = (*QUESTION, Message("assistant", "", (call,)), Message("tool", "2", tool_call_id="call_1"))
    reply = await model.reply(ModelRequest(turns, max_tokens=4, tools=(ADD,)))
    assert reply.usage.completion_tokens > 0


@pytest.mark.parametrize("listening", [False, True])
async def test_a_prompt_over_the_context_is_told_apart(model: OpenAIModel, listening: bool) -> None:
    long = ModelRequest((Message("user", "word " * 800),), on_text=print if listening else None)
    with pytest.raises(PromptTooLong):
        await model.reply(long)


async def test_a_wrong_key_halts(worker: Worker) -> None:
    model = OpenAIModel(OpenAIEndpoint("smollm2", f"{worker.address}/v1", key="wrong", key_name="SOME_KEY"))
    with pytest.raises(WorldError, match=r"\$SOME_KEY") as caught:
        await model.reply(ModelRequest(QUESTION))
    await model.close()
    assert caught.value.halts
