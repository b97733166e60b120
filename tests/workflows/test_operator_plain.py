"""The operators that call no model, and `vote`."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from evolve.core.errors import WorldError
from workflows.compile import compile_workflow
from workflows.kit import Kit, WorkflowFault
from workflows.operators.verify import VerifyParams, stands_in_text
from workflows.operators.vote import VoteParams, majority
from workflows.spec import Branch, Node, Workflow

ROWS = (
    '{"input": "aaab", "output": "A"}\n{"input": "aab", "output": "A"}\n'
    '{"input": "bbba", "output": "B"}\n{"input": "zz", "output": {"z": 1}}\n'
)


async def test_the_nearest_examples_vote_with_their_similarity(run, one_node, letters):
    files = {"d": ROWS}
    nearest = one_node("nearest", demonstrations="d")
    assert (await run(nearest, "bb", files=files, embedder=letters)).output == "B"
    assert (await run(nearest, "zzzz", files=files, embedder=letters)).output == {"z": 1}
    three = one_node("nearest", demonstrations="d", k=3)
    assert (await run(three, "ba", files=files, embedder=letters)).output == "A", "two weaker votes beat one"


async def test_rows_are_embedded_once_for_each_content(letters, one_node):
    compiled = compile_workflow(one_node("nearest", demonstrations="d"))
    for rows in (ROWS, ROWS, ROWS.replace("zz", "yy")):
        for _ in range(2):
            await compiled.run("a", Kit(models={}, files={"d": rows.encode()}, embedder=letters))
    assert letters.embedded == 4 + 4 + 6


async def test_what_is_far_can_go_another_way(run, letters, scripted):
    workflow = Workflow(
        start="known",
        nodes={
            "known": Node(
                operator="nearest",
                params={"demonstrations": "d", "far_below": 0.9},
                next=(Branch(when="far", to="ask"), Branch(to="end")),
            ),
            "ask": Node(operator="generate", params={"prompt": "p"}),
        },
    )
    files = {"d": ROWS, "p": "{input}"}
    assert (await run(workflow, "aab", scripted("asked"), files=files, embedder=letters)).output == "A"
    assert (await run(workflow, "qxq", scripted("asked"), files=files, embedder=letters)).output == "asked"


async def test_nearest_without_embedder_or_rows_is_a_fault(run, one_node, letters):
    nearest = one_node("nearest", demonstrations="d")
    with pytest.raises(WorkflowFault, match="needs an embedder"):
        await run(nearest, "a", files={"d": ROWS})
    with pytest.raises(WorkflowFault, match="no examples"):
        await run(nearest, "a", files={"d": "\n"}, embedder=letters)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from([{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 2}, "x"]), min_size=1))
def test_the_majority_is_the_most_frequent_and_of_those_the_first(outputs):
    best = majority(outputs)
    assert all(outputs.count(best) >= outputs.count(other) for other in outputs)
    assert best == next(o for o in outputs if outputs.count(o) == outputs.count(best))


async def test_samples_differ_by_seed_and_unreadable_ones_have_no_vote(run, one_node, scripted):
    replies = iter(['{"n": 2}', "broken", '{"n": 1}', '{"n":1}', "<think>"])
    model = scripted(lambda request, rng: next(replies))
    workflow = one_node("vote", n=5, sample={"prompt": "p", "parse": "json", "temperature": 0.8})
    outcome = await run(workflow, "q", model, files={"p": "{input}"})
    assert outcome.output == {"n": 1}
    assert len({request.seed for request in model.requests}) == 5
    assert {request.temperature for request in model.requests} == {0.8}
    assert outcome.steps[0].calls == 5 and outcome.steps[0].usage.prompt_tokens == 50


async def test_no_readable_sample_is_a_fault_and_a_failed_call_is_the_worlds(run, one_node, scripted):
    workflow = one_node("vote", n=3, sample={"prompt": "p", "parse": "json", "temperature": 0.8})
    with pytest.raises(WorkflowFault, match="none of 3 samples could be read"):
        await run(workflow, "q", scripted("prose"), files={"p": "{input}"})

    def fail_second(request, rng):
        if request.step.endswith("/1"):
            raise WorldError("down")
        return "{}"

    model = scripted(fail_second)
    with pytest.raises(WorldError, match="down"):
        await run(workflow, "q", model, files={"p": "{input}"})
    assert len(model.requests) == 3


def test_samples_at_temperature_zero_are_refused():
    with pytest.raises(ValidationError, match="above 0"):
        VoteParams.model_validate({"sample": {"prompt": "p"}})


VERIFY = [
    ({"not_null": ["a"]}, {"a": 0}, ""),
    ({"not_null": ["a"]}, {"a": None}, "a is missing"),
    ({"not_null": ["a"]}, "text", "a is missing"),
    ({"numeric": ["a"]}, {"a": 2.5}, ""),
    ({"numeric": ["a"]}, {"a": True}, "a is not a number"),
    ({"one_of": {"a": ["x", "y"]}}, {"a": "z"}, "a is 'z', not one of x, y"),
    ({"between": {"a": [0, 1]}}, {"a": 0.5}, ""),
    ({"between": {"a": [0, 1]}}, {"a": 1.5}, "a is 1.5, not a number from 0 to 1"),
    ({"values_in_text": ["a"]}, {"a": 1200.5}, ""),
    ({"values_in_text": ["a"]}, {"a": "2026-03-14"}, ""),
    ({"values_in_text": ["a"]}, {"a": "acme  CORP"}, ""),
    ({"values_in_text": ["a"]}, {"a": None}, ""),
    ({"values_in_text": ["a"]}, {"a": 12}, "a is 12, which does not stand in the input"),
    ({"schema": "j"}, {"a": 1}, ""),
    ({"schema": "j"}, {"a": "1"}, "$.a: '1' is not of type 'integer'"),
    ({"schema": "j", "not_null": ["b"]}, {}, "b is missing"),
]


@pytest.mark.parametrize(("rules", "output", "complaint"), VERIFY)
async def test_verify_checks_by_schema_and_rules(run, letters, rules, output, complaint):
    workflow = Workflow(
        start="source",
        nodes={
            "source": Node(operator="nearest", params={"demonstrations": "d"}, next=(Branch(to="check"),)),
            "check": Node(operator="verify", params={"node": "source", **rules}),
        },
    )
    schema = '{"properties": {"a": {"type": "integer"}}}'
    files = {"d": json.dumps({"input": "acme", "output": output}), "j": schema}
    outcome = await run(workflow, "Acme Corp, 14 March 2026: € 1.200,50", files=files, embedder=letters)
    assert outcome.output == output, "a check is never the answer"
    assert outcome.steps[-1].output == {"ok": not complaint, "message": complaint}


def test_a_verify_without_rules_is_refused():
    with pytest.raises(ValidationError, match="nothing to verify"):
        VerifyParams.model_validate({"node": "a"})


@settings(deadline=None, max_examples=60)
@given(st.dates(), st.integers(0, 10**6))
def test_what_is_written_in_a_text_stands_in_it(day, number):
    text = f"On {day.day}/{day.month}/{day.year:04d} there were {number:,} of them."
    assert stands_in_text(day.isoformat(), text)
    assert stands_in_text(number, text)
    assert stands_in_text([number, "WERE"], text)
