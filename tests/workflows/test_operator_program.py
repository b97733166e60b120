import re

import pytest
from pydantic import ValidationError

from workflows.kit import WorkflowFault
from workflows.operators.program import ProgramParams, find_expression, pinned_pattern

DEMOS = '{"input": "2 of 3", "expression": "2*3"}\n{"input": "a", "output": {"expression": "1,200 / 12"}}'
FILES = {"p": "{input}", "d": DEMOS}


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("12 * 3", 36),
        (" (12 + 3) / 2\n", 7.5),
        ("<think>12 - 3</think>12 + 3 = 99", 15),
        ("We need the sum.\nExpression: `12 + 3`", 15),
        ('{"expression": "10 / 4"}', 2.5),
        ("$1,200 × 20%", 240),
    ],
)
async def test_the_expression_is_worked_out_not_the_models_result(run, one_node, scripted, reply, value):
    assert (await run(one_node("program", prompt="p"), "q", scripted(reply), files=FILES)).output == {"answer": value}


async def test_rounding_key_and_demonstrations(run, one_node, scripted):
    model = scripted("10 / 3")
    workflow = one_node("program", prompt="p", demonstrations="d", style="plain", decimals=2, output_key="n")
    assert (await run(workflow, "q", model, files=FILES)).output == {"n": 3.33}
    assert model.requests[0].messages[0].content == (
        "Input: 2 of 3\nOutput: 2 * 3\n\nInput: a\nOutput: 1200 / 12\n\nInput: q\nOutput:"
    )


async def test_pinned_operands_come_from_the_text_and_the_constants(run, one_node, scripted):
    model = scripted('{"expression": "1200.5 * 12"}')
    workflow = one_node("program", prompt="p", demonstrations="d", pin_operands=True, constants=[12, 0.5])
    assert (await run(workflow, "$1,200.50 a month, 7 men", model, files=FILES)).output == {"answer": 14406}
    (request,) = model.requests
    number = r"(1200\.5|7|12|0\.5)"
    assert request.json_schema["properties"]["expression"]["pattern"] == f"^{number} [-+*/] {number}$"
    assert [m.content for m in request.messages if m.role == "assistant"] == [
        '{"expression": "2 * 3"}',
        '{"expression": "1200 / 12"}',
    ]


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("I do not know", "no arithmetic expression"),
        ("1 / 0", "no arithmetic expression"),
        ("", "no arithmetic expression"),
        ("<think>1 + 1", "unclosed"),
    ],
)
async def test_a_reply_without_an_expression_is_a_fault(run, one_node, scripted, reply, told):
    with pytest.raises(WorkflowFault, match=told):
        await run(one_node("program", prompt="p"), "q", scripted(reply), files=FILES)


@pytest.mark.parametrize(
    ("text", "reply", "told"),
    [
        ("3 and 4", '{"expression": "3 + 5"}', "more than the numbers of the input"),
        ("3 and 4", '{"expression": "3 + 4 + 3"}', "more than the numbers of the input"),
        ("3 and 0", '{"expression": "3 / 0"}', "division by zero"),
        ("3 and 4", '{"formula": "3 + 4"}', "no expression"),
        ("nothing", "", "holds no number"),
    ],
)
async def test_a_pinned_reply_outside_its_pins_is_a_fault(run, one_node, scripted, text, reply, told):
    with pytest.raises(WorkflowFault, match=told):
        await run(one_node("program", prompt="p", pin_operands=True), text, scripted(reply), files=FILES)


def test_two_steps_allow_one_more_operation_in_every_grouping():
    pattern = re.compile(pinned_pattern(["2", "3.5"], 2))
    for good in ("2 + 3.5", "2 + 3.5 * 2", "(2 + 3.5) * 2", "2 * (2 - 3.5)"):
        assert pattern.match(good), good
    for bad in ("2", "2 + 3x5", "2 + 2 + 2 + 2", "(2 + 2)", "2+2"):
        assert not pattern.match(bad), bad


def test_the_last_line_that_is_an_expression_wins():
    assert find_expression("1 + 1\n2 + 2 = 4\ndone") == "2 + 2"


def test_pins_without_pinning_are_refused():
    with pytest.raises(ValidationError, match="only matter with pin_operands"):
        ProgramParams.model_validate({"prompt": "p", "steps": 2})
