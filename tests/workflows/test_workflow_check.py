import json

import pytest

from evolve.core.messages import Capability
from workflows.check import Problem, check_capabilities, check_graph, check_workflow
from workflows.check_files import check_workflow_files
from workflows.library import library_names, library_workflow
from workflows.spec import Workflow, parse_workflow

FILES = {"prompts/answer.md", "prompts/label.md", "prompts/fields.md", "prompts/calculate.md", "prompts/call.md"}
FILES |= {"schemas/answer.json", "demonstrations/known.jsonl"}


def ask(next="end", operator="generate", **params):
    """A node as YAML."""
    return {"operator": operator, "params": {"prompt": "p.md", **params}, "next": next}


def check(next, node="a"):
    return {"operator": "verify", "params": {"node": node, "not_null": ["x"]}, "next": next}


def when(outcome, to, otherwise=None):
    return [{"when": outcome, "to": to}, *([{"to": otherwise}] if otherwise else [])]


def graph(start="a", output=None, **nodes):
    return Workflow.model_validate({"start": start, "nodes": nodes, "output": output})


def problems(workflow, files=("p.md",), tools=("find_order",), roles=("agent",)):
    return [str(p) for p in check_workflow(workflow, files=files, tools=tools, roles=roles)]


@pytest.mark.parametrize("name", library_names())
def test_every_seed_graph_is_sound(name):
    assert check_workflow(library_workflow(name), files=FILES, tools=["t"], roles=["agent"]) == []


UNSOUND = [
    (graph("b", a=ask()), "start names 'b', which is no node"),
    (graph(a=ask(operator="genrate")), "node a: unknown operator 'genrate' (did you mean 'generate'?)"),
    (graph(a=ask(temprature=1)), "node a: generate has no parameter 'temprature' (did you mean 'temperature'?)"),
    (graph(a=ask(temperature="hot")), "node a: params.temperature: Input should be a valid number"),
    (graph(a={"operator": "generate"}), "node a: params.prompt: Field required"),
    (graph(a=ask(prompt="q.md")), "node a: prompt: the tree has no file 'q.md' (did you mean 'p.md'?)"),
    (graph(a=ask(role="agnt")), "node a: no model has the role 'agnt' (did you mean 'agent'?)"),
    (graph(a=ask("next")), "node a: next names 'next', which is no node"),
    (graph(a=ask(), b=ask()), "node b: cannot be reached from start"),
    (graph(a=ask(when("failed", "a", "end"))), "node a: generate never has the outcome 'failed' (known: done)"),
    (graph(a=ask("b"), b=check(when("failed", "a"))), "node b: no branch for the outcome 'passed'"),
    (graph(a=ask("b"), b=check([{"to": "end"}, *when("failed", "a")])), "node b: branch 2 (to 'a') is never taken"),
    (graph(a=ask("b"), b=check("end", node="c")), "node b: node names 'c', which is no node"),
    (graph("b", a=ask(), b=check(when("failed", "a", "end"))), "node b: a run can reach end without any node that"),
    (graph("b", "a", a=ask(), b=check(when("failed", "a", "end"))), "node a: output names this node, but a run can"),
    (graph(output="z", a=ask()), "output names 'z', which is no node"),
]


@pytest.mark.parametrize(("workflow", "told"), UNSOUND)
def test_the_check_names_node_and_fix(workflow, told):
    found = problems(workflow)
    assert any(line.startswith(told) for line in found), found


def test_files_inside_a_sample_are_found():
    workflow = graph(a={"operator": "vote", "params": {"sample": {"prompt": "q.md", "temperature": 1}}})
    assert problems(workflow) == ["node a: sample.prompt: the tree has no file 'q.md' (did you mean 'p.md'?)"]


def test_exhaustive_outcomes_need_no_last_branch():
    branches = [*when("failed", "a"), *when("passed", "end")]
    assert problems(graph(a=ask("b"), b=check(branches))) == []


def test_graph_problems_need_no_files_and_capabilities_are_checked_against_the_models():
    workflow = library_workflow("choose")
    assert check_graph(workflow) == []
    assert check_capabilities(workflow, {"agent": frozenset(Capability)}) == []
    found = check_capabilities(workflow, {"agent": frozenset({Capability.JSON_SCHEMA})})
    assert found == [Problem("label", "choose needs labels, which the model of role 'agent' lacks")]


def row(**fields):
    return json.dumps({"input": 1, **fields}).encode()


@pytest.mark.parametrize(
    ("operator", "params", "content", "told"),
    [
        ("generate", "prompt: f", b"no placeholder here {}", "neither the input nor any output"),
        ("generate", "prompt: f", b"{input} {onyl}", "{onyl} is no node and stays as it is (did you mean 'only'?)"),
        ("generate", "prompt: f", b"{input} \xff", "codec can't decode"),
        ("generate", "prompt: p, parse: json, schema: f", b'{"type": "objekt"}', "not a JSON schema"),
        ("generate", "prompt: p, parse: json, schema: f", b"{", "f: "),
        ("generate", "prompt: p, demonstrations: f", b"", "no demonstrations"),
        ("generate", "prompt: p, demonstrations: f", b'{"input": 1}\n{"input": 2, "ouput": 3}', "line 2: ouput"),
        ("nearest", "demonstrations: f", b'{"input": 1}\nx', "line 2"),
        ("choose", "prompt: p, demonstrations: f, labels: [a, b]", row(output="c"), "row 1: the output 'c' is none"),
        ("extract", "prompt: p, demonstrations: f, fields: {d: {kind: date}}", row(output="c"), "is an object"),
        ("program", "prompt: p, demonstrations: f", row(output=3), "row 1: no expression"),
        ("program", "prompt: p, demonstrations: f, pin_operands: true", row(expression="1+2+3"), "has 2 operations"),
        ("use_tools", "prompt: p, demonstrations: f", row(output={"name": "x"}), "a tool call is"),
    ],
)
def test_the_content_of_named_files_is_checked(operator, params, content, told):
    workflow = parse_workflow(f"start: only\nnodes: {{only: {{operator: {operator}, params: {{{params}}}}}}}")
    found = [str(p) for p in check_workflow_files(workflow, {"p": b"Q: {input}", "f": content})]
    assert len(found) == 1 and told in found[0] and found[0].startswith("node only: f: "), found


def test_sound_files_have_no_problems():
    text = "start: a\nnodes: {a: {operator: generate, params: {prompt: p, demonstrations: d}}}"
    files = {"p": b'Answer as {"answer": 1}: {input}', "d": b'{"id": "7", "input": "a", "output": [1]}\r\n\n'}
    assert check_workflow_files(parse_workflow(text), files) == []
