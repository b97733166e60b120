import pytest
from pydantic import ValidationError

from evolve.core.messages import Message, ModelReply, Usage
from workflows.kit import WorkflowFault
from workflows.operators.generate import GenerateParams

DEMOS = '{"id": "1", "input": "good {x}", "output": "positive"}\n{"id": "2", "input": "bad", "output": "negative"}\n'
SCHEMA = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'


async def test_chat_sends_system_then_demonstrations_then_the_input_last(run, one_node, scripted):
    model = scripted("ok")
    workflow = one_node("generate", prompt="p", system="s", demonstrations="d", max_tokens=9, temperature=0.5)
    files = {"p": 'Say {"a": {b}} for {input}.\n', "s": "Be brief.\n", "d": DEMOS}
    assert (await run(workflow, "{only} {input}", model, files=files)).output == "ok"
    (request,) = model.requests
    assert request.messages == (
        Message("system", "Be brief."),
        Message("user", 'Say {"a": {b}} for good {x}.'),
        Message("assistant", "positive"),
        Message("user", 'Say {"a": {b}} for bad.'),
        Message("assistant", "negative"),
        Message("user", 'Say {"a": {b}} for {only} {input}.'),
    )
    assert (request.max_tokens, request.temperature, request.style, request.stop) == (9, 0.5, "chat", ())


async def test_plain_writes_blocks_and_stops_at_the_line_or_the_next_input(run, one_node, scripted):
    model = scripted(" ok\n")
    workflow = one_node("generate", prompt="p", system="s", demonstrations="d", style="plain", max_demonstrations=1)
    await run(workflow, "fine", model, files={"p": "{input}", "s": "Sentiment.", "d": DEMOS})
    (request,) = model.requests
    assert request.messages == (
        Message("user", "Sentiment.\n\nInput: good {x}\nOutput: positive\n\nInput: fine\nOutput:"),
    )
    assert (request.style, request.stop) == ("plain", ("\n", "\nInput:"))


async def test_plain_does_not_stop_at_lines_when_answers_have_several(run, one_node, scripted):
    model = scripted("a\nb")
    workflow = one_node("generate", prompt="p", demonstrations="d", style="plain")
    files = {"p": "{input}", "d": '{"input": "x", "output": "one\\ntwo"}'}
    assert (await run(workflow, "q", model, files=files)).output == "a\nb"
    assert model.requests[0].stop == ("\nInput:",)


async def test_earlier_turns_of_a_conversation_stay_turns(run, one_node, scripted):
    model = scripted("ok")
    talk = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "yes?"},
        {"role": "user", "content": "go"},
    ]
    await run(one_node("generate", prompt="p"), talk, model, files={"p": "Q: {input}"})
    assert model.requests[0].messages == (Message("user", "hi"), Message("assistant", "yes?"), Message("user", "Q: go"))


async def test_keys_of_objects_can_be_named_and_missing_ones_are_faults(run, one_node, scripted):
    model = scripted("ok")
    workflow = one_node("generate", prompt="p")
    await run(workflow, {"q": "why", "n": [1]}, model, files={"p": "{input.q} {input.n} {only.x}|"})
    assert model.requests[0].messages[-1].content == "why [1] |"
    with pytest.raises(WorkflowFault, match=r"\{input\.z\}, which is not there"):
        await run(workflow, {"q": "why"}, model, files={"p": "{input.z}"})


async def test_a_schema_constrains_and_checks_the_reply(run, one_node, scripted):
    model = scripted('{"a": 1}')
    files = {"p": "{input}", "j": SCHEMA}
    constrained = one_node("generate", prompt="p", parse="json", schema="j", style="plain")
    assert (await run(constrained, "q", model, files=files)).output == {"a": 1}
    assert model.requests[0].json_schema["required"] == ["a"]
    assert model.requests[0].stop == ("\nInput:",), "a line's end may stand inside the object"
    free = one_node("generate", prompt="p", parse="json", schema="j", constrain=False)
    await run(free, "q", model, files=files)
    assert model.requests[1].json_schema is None
    with pytest.raises(WorkflowFault, match="'a' is a required property"):
        await run(constrained, "q", scripted('{"b": 1}'), files=files)


async def test_a_cut_reply_says_that_it_was_cut(run, one_node, scripted):
    class Cut:
        identity, capabilities = "cut", frozenset()

        async def reply(self, request):
            return ModelReply('{"a": ', Usage(1, 1), "length")

    with pytest.raises(WorkflowFault, match="cut at max_tokens = 7"):
        await run(one_node("generate", prompt="p", parse="json", max_tokens=7), "q", Cut(), files={"p": "{input}"})


@pytest.mark.parametrize("reply", ["", "  \n", "<think>all of it", "<think>a</think>"])
async def test_an_empty_or_unfinished_reply_is_a_fault(run, one_node, scripted, reply):
    with pytest.raises(WorkflowFault, match=r"empty|unclosed"):
        await run(one_node("generate", prompt="p"), "q", scripted(reply), files={"p": "{input}"})


@pytest.mark.parametrize("bad", ['{"input": 1, "output": 2', '{"output": 1}', '{"input": 1, "label": 2}', "[1]"])
async def test_a_bad_demonstration_is_a_fault_with_its_line(run, one_node, scripted, bad):
    workflow = one_node("generate", prompt="p", demonstrations="d")
    with pytest.raises(WorkflowFault, match="d: line 2"):
        await run(workflow, "q", scripted("x"), files={"p": "{input}", "d": '{"input": 1}\n' + bad})


def test_a_schema_without_json_is_refused():
    with pytest.raises(ValidationError, match="schema needs parse: json"):
        GenerateParams.model_validate({"prompt": "p", "schema": "j"})
