import asyncio
import math
import random
import time

from evolve.core.messages import Message, ModelReply, ModelRequest, Usage
from evolve.models import ScriptedModel


def ask(text: str, **settings: object) -> ModelRequest:
    return ModelRequest((Message("user", text),), **settings)  # type: ignore[arg-type]


def roll(request: ModelRequest, rng: random.Random) -> str:
    return f"{request.messages[0].content} {rng.random()}"


async def test_a_reply_depends_on_request_and_seed_not_on_order() -> None:
    requests = [ask(f"case {number}") for number in range(50)]
    one, other = ScriptedModel("roll", roll), ScriptedModel("roll", roll)
    forwards = await asyncio.gather(*(one.reply(request) for request in requests))
    backwards = [await other.reply(request) for request in reversed(requests)]
    assert forwards == backwards[::-1]
    assert (await ScriptedModel("roll", roll, seed=1).reply(requests[0])).text != forwards[0].text
    assert len({reply.text for reply in forwards}) == len(requests)


async def test_identity_holds_name_and_seed() -> None:
    assert ScriptedModel("roll", roll, seed=3).identity == "scripted:roll@seed:3"


async def test_a_script_may_return_a_whole_reply() -> None:
    reply = ModelReply("x", usage=Usage(3, 4, 1), label_logprobs={"x": -0.1})
    assert await ScriptedModel("whole", lambda request, rng: reply).reply(ask("q")) is reply


async def test_label_scores_are_a_distribution_that_the_text_leads() -> None:
    labels = tuple("abcdefgh")
    reply = await ScriptedModel("pick", lambda request, rng: "e").reply(ask("q", labels=labels))
    assert reply.text == "e" == max(labels, key=lambda label: reply.label_logprobs[label])
    assert math.isclose(sum(map(math.exp, reply.label_logprobs.values())), 1.0)
    drawn = [(await ScriptedModel("none", roll).reply(ask(str(n), labels=labels))).text for n in range(400)]
    assert min(drawn.count(label) for label in labels) > 20, "labels are drawn uniformly"


async def test_a_reply_costs_little_processor_time() -> None:
    model = ScriptedModel("fast", lambda request, rng: "an answer")
    request = ask("word " * 100)
    before = time.process_time()
    for _ in range(500):
        await model.reply(request)
    assert (time.process_time() - before) / 500 < 0.0004
