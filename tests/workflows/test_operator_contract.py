"""The conformance pack: what holds for every operator."""

import pytest
from pydantic import ValidationError

from evolve.core.messages import Capability
from workflows.compile import compile_workflow
from workflows.kit import Kit
from workflows.operators import OPERATORS
from workflows.operators.contract import Operator
from workflows.params import OperatorParams

ASK = {"prompt": "p"}
EXAMPLES = {
    "choose": {**ASK, "labels": ["left", "right"]},
    "extract": {**ASK, "fields": {"total": {"kind": "amount"}}},
    "generate": ASK,
    "nearest": {"demonstrations": "d"},
    "program": ASK,
    "use_tools": ASK,
    "verify": {"node": "only", "not_null": ["x"]},
    "vote": {"n": 3, "sample": {**ASK, "temperature": 0.5}},
}
TOOL = {"description": "Finds.", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}
FILES = {"p": "{input}", "d": '{"input": "left", "output": "L"}'}


def answer_anything(request, rng):
    if request.labels:
        return dict.fromkeys(request.labels, -1.0)
    if request.json_schema:
        properties = request.json_schema["properties"]
        return "{" + ", ".join(f'"{key}": "{part.get("enum", ["x"])[0]}"' for key, part in properties.items()) + "}"
    return "1 + 2"


def test_every_operator_has_an_example_and_keeps_the_contract():
    assert set(EXAMPLES) == set(OPERATORS)
    for name, operator in OPERATORS.items():
        assert isinstance(operator, Operator) and operator.name == name
        assert operator.outcomes and len(set(operator.outcomes)) == len(operator.outcomes)
        assert issubclass(operator.params, OperatorParams) and operator.__doc__ and operator.params.__doc__


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_parameters_refuse_what_they_do_not_know(name):
    params = OPERATORS[name].params
    params.model_validate(EXAMPLES[name])
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        params.model_validate({**EXAMPLES[name], "surprise": 1})


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_parameters_name_existing_files_roles_and_capabilities(name):
    params = OPERATORS[name].params.model_validate(EXAMPLES[name])
    assert {use.path for use in params.files()} <= set(FILES)
    assert params.roles() == (() if name in ("nearest", "verify") else ("agent",))
    assert params.needs() <= set(Capability)


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - {"verify"}))
async def test_one_visit_makes_one_step_that_counts_its_calls(name, scripted, letters, one_node):
    model = scripted(answer_anything)
    kit = Kit(
        models={"agent": model},
        files={path: text.encode() for path, text in FILES.items()},
        embedder=letters,
        tools={"find_a": TOOL, "find_b": TOOL},
    )
    outcome = await compile_workflow(one_node(name, **EXAMPLES[name])).run("pay $3 or $4", kit)
    (step,) = outcome.steps
    assert (step.node, step.operator, step.error, step.output) == ("only", name, "", outcome.output)
    assert step.calls == len(model.requests)
    assert step.usage.total_tokens == 12 * step.calls
    assert [request.step for request in model.requests] == [f"only#1/{i}" for i in range(step.calls)]
