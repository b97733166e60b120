"""`choose` and the choice of a tool: calibration, offsets, prompts."""

import pytest
from pydantic import ValidationError

from evolve.core.errors import UserError, WorldError
from evolve.core.messages import Message
from workflows.kit import Kit, WorkflowFault
from workflows.offsets import measure_offsets
from workflows.operators.choose import ChooseParams

FILES = {"p": "{input}", "d": '{"input": "x", "output": {"label": "no"}}\n{"input": "y", "output": "yes"}'}


def biased(request, rng):
    """Leans to `yes` whatever is asked, a little less for a no."""
    lean = {"N/A": 0.0, "a no": 2.0}.get(
        request.messages[-1].content.removesuffix("\nOutput:").rpartition("Input: ")[2], 0
    )
    return {"yes": -0.5, "no": -3.0 + lean}


async def test_calibration_subtracts_what_the_model_says_about_nothing(run, one_node, scripted):
    model = scripted(biased)
    raw = one_node("choose", prompt="p", labels=["yes", "no"], calibrate=False)
    assert (await run(raw, "a no", model, files=FILES)).output == {"label": "yes"}
    assert len(model.requests) == 1
    calibrated = one_node("choose", prompt="p", labels=["yes", "no"])
    assert (await run(calibrated, "a no", model, files=FILES)).output == {"label": "no"}
    assert [r.messages[-1].content for r in model.requests[1:]] == ["a no", "N/A"]
    assert all(r.labels == ("yes", "no") and r.max_tokens == 1 for r in model.requests)


async def test_baked_offsets_cost_no_call(run, one_node, scripted):
    model = scripted(biased)
    open_workflow = one_node("choose", prompt="p", labels=["yes", "no"], style="plain")
    files = {path: text.encode() for path, text in FILES.items()}
    offsets = await measure_offsets(open_workflow, "only", Kit(models={"agent": model}, files=files))
    assert offsets == {"yes": -0.5, "no": -3.0}
    baked = one_node("choose", prompt="p", labels=["yes", "no"], style="plain", offsets=offsets)
    outcome = await run(baked, "a no", model, files=FILES)
    assert (outcome.output, outcome.steps[0].calls) == ({"label": "no"}, 1)


async def test_demonstrations_show_labels_however_they_are_written(run, one_node, scripted):
    model = scripted(biased)
    workflow = one_node("choose", prompt="p", labels=["yes", "no"], demonstrations="d", offsets={"yes": 0, "no": 0})
    await run(workflow, "q", model, files=FILES)
    assert [m.content for m in model.requests[0].messages if m.role == "assistant"] == ["no", "yes"]


async def test_the_first_label_wins_a_tie_and_a_missing_score_is_the_providers_fault(run, one_node, scripted):
    workflow = one_node("choose", prompt="p", labels=["b", "a"], calibrate=False, output_key="side")
    assert (await run(workflow, "q", scripted(lambda r, g: {"a": -1.0, "b": -1.0}), files=FILES)).output == {
        "side": "b"
    }
    with pytest.raises(WorldError, match="no probability for the label 'a'"):
        await run(workflow, "q", scripted(lambda r, g: {"b": -1.0}), files=FILES)


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        ({"labels": ["a"]}, "at least 2"),
        ({"labels": ["a", "a"]}, "must differ"),
        ({"labels": ["a", " "]}, "not be empty"),
        ({"labels": ["a", "b"], "offsets": {"a": 1}}, "every label"),
        ({"labels": ["a", "b"], "offsets": {"a": 1, "b": 2}, "calibrate": False}, "calibrate is false"),
    ],
)
def test_labels_and_offsets_are_checked(extra, told):
    with pytest.raises(ValidationError, match=told):
        ChooseParams.model_validate({"prompt": "p", **extra})


TOOLS = {
    "find_order": {
        "description": "Finds an order.\nMore.",
        "parameters": {
            "type": "object",
            "properties": {"order_id": {"type": "string", "description": "id"}, "count": {"type": "integer"}},
            "required": ["order_id", "count"],
            "additionalProperties": False,
        },
    },
    "stop_all": {"description": "Stops.", "parameters": {"type": "object", "properties": {}}},
}
CALLS = (
    '{"input": "look for A-1, 3 times", "output": {"tool": "find_order", "args": {"order_id": "A-1", "count": 3}}}\n'
    '{"input": "halt", "output": {"tool": "stop_all", "args": {}}}\n'
)


def call_find(request, rng):
    if request.labels:
        return {"find_order": -1.0, "stop_all": -2.0}
    return '{"order_id": "INV-7", "count": 12}'


async def test_a_tool_is_chosen_and_its_arguments_are_pinned_to_the_text(run, one_node, scripted):
    model = scripted(call_find)
    workflow = one_node("use_tools", prompt="p", demonstrations="d", pin_arguments=True, calibrate=False)
    outcome = await run(workflow, "order INV-7 of 12 or 13.5", model, files={"p": "{input}", "d": CALLS}, tools=TOOLS)
    assert outcome.output == {"tool": "find_order", "args": {"order_id": "INV-7", "count": 12}}
    choice, fill = model.requests
    assert choice.messages[0] == Message("system", "Tools:\n- find_order: Finds an order.\n- stop_all: Stops.")
    assert [m.content for m in choice.messages if m.role == "assistant"] == ["find_order", "stop_all"]
    assert [m.content for m in fill.messages if m.role == "assistant"] == ['{"order_id": "A-1", "count": 3}']
    assert fill.json_schema["properties"]["count"]["enum"] == [12]
    assert "INV-7" in fill.json_schema["properties"]["order_id"]["enum"]
    assert fill.json_schema["required"] == ["order_id", "count"]


async def test_a_tool_without_arguments_or_with_forced_ones_costs_no_second_call(run, one_node, scripted):
    model = scripted(lambda request, rng: {"find_order": -2.0, "stop_all": -1.0})
    workflow = one_node("use_tools", prompt="p", calibrate=False)
    assert (await run(workflow, "halt", model, files=FILES, tools=TOOLS)).output == {"tool": "stop_all", "args": {}}
    only = {"set_level": {"parameters": {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}}}
    forced = one_node("use_tools", prompt="p", pin_arguments=True)
    outcome = await run(forced, "set it to 4", scripted("never asked"), files=FILES, tools=only)
    assert (outcome.output, outcome.steps[0].calls) == ({"tool": "set_level", "args": {"n": 4}}, 0)


async def test_the_choice_of_a_tool_is_calibrated_too(run, one_node, scripted):
    def lean(request, rng):
        empty = request.messages[-1].content == "N/A"
        return {"find_order": -0.1, "stop_all": -5.0 if empty else -1.0}

    workflow = one_node("use_tools", prompt="p")
    outcome = await run(workflow, "halt", scripted(lean), files=FILES, tools=TOOLS)
    assert (outcome.output["tool"], outcome.steps[0].calls) == ("stop_all", 2)
    kit = Kit(models={"agent": scripted(lean)}, files={"p": b"{input}"}, tools=TOOLS)
    assert await measure_offsets(workflow, "only", kit) == {"find_order": -0.1, "stop_all": -5.0}


@pytest.mark.parametrize(
    ("tools", "params", "told"),
    [
        ({}, {}, "the harness has no tools"),
        (TOOLS, {"tools": ["find_ordr"]}, "no such tool: find_ordr"),
        (TOOLS, {"offsets": {"stop_all": 0.0}}, "no offset for the label 'find_order'"),
        (TOOLS, {"tools": ["find_order"]}, "does not fit"),
    ],
)
async def test_what_cannot_be_called_is_a_fault(run, one_node, scripted, tools, params, told):
    def reply(request, rng):
        return {name: -1.0 for name in request.labels} if request.labels else '{"order_id": 7}'

    with pytest.raises(WorkflowFault, match=told):
        await run(one_node("use_tools", prompt="p", **params), "q", scripted(reply), files=FILES, tools=tools)


async def test_only_choosing_nodes_have_offsets(one_node, scripted):
    with pytest.raises(UserError, match="only choose and use_tools"):
        await measure_offsets(one_node("generate", prompt="p"), "only", Kit(models={}, files={}))
