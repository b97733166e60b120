import pytest

from workflows.kit import WorkflowFault

FILES = {
    "p": "{input}",
    "d": '{"input": "paid $5 of $7 on 1 May 2026", "output": {"due": "2026-05-01", "total": 7.0, "code": null}}',
}
FIELDS = {"due": {"kind": "date"}, "total": {"kind": "amount"}, "code": {"kind": "identifier"}}


async def test_the_model_points_at_the_text_and_the_output_is_in_normal_form(run, one_node, scripted):
    model = scripted('{"due": "14 March 2026", "total": "€1.200,50", "code": null}')
    workflow = one_node("extract", prompt="p", demonstrations="d", fields=FIELDS)
    outcome = await run(workflow, "€1.200,50 or €3, due 14 March 2026, not 15/03/2026", model, files=FILES)
    assert outcome.output == {"due": "2026-03-14", "total": 1200.5, "code": None}
    assert list(outcome.output) == list(FIELDS)
    (request,) = model.requests
    assert request.json_schema["properties"] == {
        "due": {"enum": ["14 March 2026", "15/03/2026"]},
        "total": {"enum": ["€1.200,50", "€3"]},
        "code": {"enum": [None]},
    }
    assert request.messages[1].content == '{"due": "1 May 2026", "total": "$7", "code": null}'


async def test_what_leaves_no_choice_costs_no_call(run, one_node, scripted):
    workflow = one_node("extract", prompt="p", fields=FIELDS)
    outcome = await run(workflow, "INV-7: $5 due March 14th", scripted("never asked"), files=FILES)
    assert outcome.output == {"due": "March 14th", "total": 5.0, "code": "INV-7"}
    assert outcome.steps[0].calls == 0
    assert (await run(workflow, "", None, files=FILES)).output == {"due": None, "total": None, "code": None}


async def test_an_optional_field_may_be_null_although_something_is_there(run, one_node, scripted):
    workflow = one_node("extract", prompt="p", fields={"due": {"kind": "date", "optional": True}})
    model = scripted('{"due": null}')
    assert (await run(workflow, "born 1 May 1990", model, files=FILES)).output == {"due": None}
    assert model.requests[0].json_schema["properties"]["due"]["enum"] == ["1 May 1990", None]


async def test_formats_are_options_of_the_field(run, one_node):
    fields = {"when": {"kind": "date", "day_first": False}, "n": {"kind": "number", "decimal": ","}}
    outcome = await run(one_node("extract", prompt="p", fields=fields), "1.500 on 3/4/2026", None, files=FILES)
    assert outcome.output == {"when": "2026-03-04", "n": 1500}


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ('{"due": "16 March 2026", "total": null, "code": null}', "not a candidate in the text"),
        ('{"total": null, "code": null}', "due is missing"),
        ("in March", "no complete JSON"),
    ],
)
async def test_an_answer_that_is_not_in_the_text_is_a_fault(run, one_node, scripted, reply, told):
    workflow = one_node("extract", prompt="p", fields=FIELDS)
    with pytest.raises(WorkflowFault, match=told):
        await run(workflow, "14 March 2026 or 15 March 2026", scripted(reply), files=FILES)
