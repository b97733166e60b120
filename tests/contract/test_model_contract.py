"""What every model must do, whatever the provider: local, scripted, and openai against real servers in both forms."""

import json
import math
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from evolve.core.errors import UserError
from evolve.core.messages import Capability, Message, Model, ModelReply, ModelRequest
from evolve.models import ModelSettings, open_model
from evolve.models.local import Worker, WorkerPlan
from evolve.models.local.weights import find_weights
from tests.models.openai_server import KEY, Answer, Events, Reply, message_item, response, response_events, serving

pytestmark = pytest.mark.asyncio(loop_scope="module")

SCHEMA = {
    "type": "object",
    "properties": {"size": {"enum": ["small", "large"]}},
    "required": ["size"],
    "additionalProperties": False,
}


def script(request: ModelRequest, rng: object) -> str:
    return json.dumps({"size": "small"}) if request.json_schema is not None else "Paris, I would say."


def respond(_path: str, body: dict[str, Any]) -> Answer:
    """As the script above, in the Responses form."""
    text = json.dumps({"size": "small"}) if "text" in body else "Paris, I would say."
    details = {"input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}}
    usage = {"input_tokens": 9, "output_tokens": 5, "total_tokens": 14, **details}
    usage["output_tokens_details"] = {"reasoning_tokens": 0}
    whole = response(message_item(("output_text", text)), usage=usage)
    return Events(response_events(whole, text[:3], text[3:])) if body.get("stream") else Reply(whole)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["local", "openai", "responses", "scripted"])
async def model(request: pytest.FixtureRequest) -> AsyncIterator[Model]:
    if request.param == "scripted":
        yield open_model(ModelSettings(model="scripted:paris"), environment={}, scripted={"paris": script})
        return
    if request.param == "local":
        local = open_model(ModelSettings(model="local:smollm2-135m", workers=1), environment={})
        yield local
        await local.close()
        return
    if request.param == "responses":
        with serving() as server:
            server.script = respond
            settings = ModelSettings(model="openai:m", base_url=server.address, api_key_env="KEY", api="responses")
            answering = open_model(settings, environment={"KEY": KEY})
            yield answering
            await answering.close()
            assert server.complaints == []
        return
    worker = Worker(WorkerPlan("local:smollm2-135m", find_weights("smollm2-135m")))
    try:
        await worker.start()
        settings = ModelSettings(model="openai:smollm2", base_url=f"{worker.address}/v1", api_key_env="WORKER_KEY")
        remote = open_model(settings, environment={"WORKER_KEY": worker.key})
        yield remote
        await remote.close()
    finally:
        await worker.close()


def ask(text: str, **settings: object) -> ModelRequest:
    return ModelRequest((Message("user", text),), **settings)  # type: ignore[arg-type]


async def served(model: Model, request: ModelRequest, *capabilities: Capability) -> ModelReply | None:
    """The reply; None after a model that lacks an ability has refused by name. Only the Responses API lacks any."""
    if model.capabilities.issuperset(capabilities):
        return await model.reply(request)
    assert "#responses" in model.identity
    with pytest.raises(UserError, match="fix"):
        await model.reply(request)
    return None


async def test_identity_names_the_provider_and_stays(model: Model) -> None:
    assert model.identity.partition(":")[0] in {"local", "openai", "scripted"}
    assert model.identity == model.identity


async def test_chat_answers_and_counts_tokens(model: Model) -> None:
    reply = await model.reply(ask("What is the capital of France?", max_tokens=12))
    assert reply.text.strip()
    assert reply.usage.prompt_tokens > 0
    assert 0 < reply.usage.completion_tokens <= 12
    assert reply.usage.cached_tokens <= reply.usage.prompt_tokens
    assert reply.seconds >= 0


async def test_what_is_heard_is_the_text(model: Model) -> None:
    heard: list[str] = []
    reply = await model.reply(ask("What is the capital of France?", max_tokens=16, on_text=heard.append))
    assert "".join(heard) in ("", reply.text), "a model that cannot stream says nothing, and its wrapper the whole"
    assert reply.usage.completion_tokens > 0


async def test_plain_continues_without_a_template(model: Model) -> None:
    request = ask("The capital of France is", style="plain", max_tokens=4)
    reply = await served(model, request, Capability.PLAIN)
    assert reply is None or "Paris" in reply.text


@pytest.mark.parametrize("style", ["chat", "plain"])
async def test_a_schema_binds_the_reply(model: Model, style: str) -> None:
    request = ask("Is an ant small or large?", style=style, max_tokens=40, json_schema=SCHEMA)
    reply = await served(model, request, Capability.JSON_SCHEMA, *[Capability.PLAIN] * (style == "plain"))
    assert reply is None or json.loads(reply.text)["size"] in {"small", "large"}


@pytest.mark.parametrize("style", ["chat", "plain"])
async def test_labels_get_one_log_probability_each(model: Model, style: str) -> None:
    labels = ("positive", "negative", "neutral")
    request = ask("Review: I love it. It is great. The sentiment is:", style=style, labels=labels)
    reply = await served(model, request, Capability.LABELS)
    if reply is None:
        return
    assert set(reply.label_logprobs) == set(labels)
    assert all(value <= 1e-6 and math.isfinite(value) for value in reply.label_logprobs.values())
    assert reply.text == max(labels, key=lambda label: reply.label_logprobs[label])


async def test_labels_that_share_a_beginning_are_told_apart(model: Model) -> None:
    labels = ("New York", "New Orleans", "New Jersey")
    request = ask("The Empire State Building stands in the city of", style="plain", labels=labels)
    reply = await served(model, request, Capability.LABELS)
    if reply is None:
        return
    assert set(reply.label_logprobs) == set(labels)
    assert len(set(reply.label_logprobs.values())) == len(labels)


async def test_an_empty_label_is_refused(model: Model) -> None:
    with pytest.raises(UserError, match="label"):
        await model.reply(ask("x", labels=("a", "")))


async def test_the_same_request_gets_the_same_text(model: Model) -> None:
    request = ask("Name three colours.", max_tokens=16, seed=7)
    assert (await model.reply(request)).text == (await model.reply(request)).text


async def test_a_sampled_reply_depends_on_its_seed_only(model: Model) -> None:
    request = ask("Tell me a story.", max_tokens=12, temperature=1.0, seed=2**60 + 5)
    assert (await model.reply(request)).text == (await model.reply(request)).text


async def test_text_of_any_script_passes(model: Model) -> None:
    reply = await model.reply(ask("Repeat: 🙂 漢字 é \u2028 שלום", max_tokens=4))
    assert isinstance(reply, ModelReply)


async def test_zz_close_is_safe_twice(model: Model) -> None:
    await model.close()
    await model.close()
