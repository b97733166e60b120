"""Case 14: a missing node, a cycle without exit, an unreachable end, an unknown tool: the check names the node."""

import pytest

from evolve.core.errors import UserError
from workflows.check import check_workflow
from workflows.compile import compile_workflow
from workflows.spec import parse_workflow

GENERATE = "operator: generate, params: {prompt: p.md}"
MISSING_NODE = f"start: draft\nnodes: {{draft: {{{GENERATE}, next: polish}}}}"
CYCLE_WITHOUT_EXIT = f"""
start: draft
nodes:
  draft: {{{GENERATE}, next: revise}}
  revise: {{{GENERATE}, next: draft}}
"""
UNREACHABLE_END = f"""
start: draft
nodes:
  draft: {{{GENERATE}, next: check}}
  check: {{operator: verify, params: {{node: draft, not_null: [a]}}, next: [{{when: failed, to: stuck}}, {{to: end}}]}}
  stuck: {{{GENERATE}, next: stuck}}
"""
UNKNOWN_TOOL = "start: call\nnodes: {call: {operator: use_tools, params: {prompt: p.md, tools: [cancel_ordr]}}}"

CASES = [
    (MISSING_NODE, "draft", "next names 'polish', which is no node"),
    (CYCLE_WITHOUT_EXIT, "draft", "the cycle draft → revise → draft has no exit"),
    (UNREACHABLE_END, "stuck", "the cycle stuck → stuck has no exit"),
    (UNKNOWN_TOOL, "call", "unknown tool 'cancel_ordr'"),
]


@pytest.mark.parametrize(("text", "node", "message"), CASES)
def test_the_static_check_names_the_node(text, node, message):
    problems = check_workflow(parse_workflow(text), files=["p.md"], tools=["cancel_order"], roles=["agent"])
    assert (node, message) in [(p.node, p.message) for p in problems]


def test_the_fix_is_fed_back_with_the_problem():
    (problem,) = check_workflow(parse_workflow(UNKNOWN_TOOL), files=["p.md"], tools=["cancel_order"], roles=["agent"])
    assert str(problem) == "node call: unknown tool 'cancel_ordr' (did you mean 'cancel_order'?)"


def test_a_harness_without_tools_cannot_use_tools():
    problems = check_workflow(parse_workflow(UNKNOWN_TOOL), files=["p.md"], tools=[], roles=["agent"])
    assert [p.message for p in problems] == ["the harness has no tools to choose from"]


@pytest.mark.parametrize("text", [MISSING_NODE, CYCLE_WITHOUT_EXIT, UNREACHABLE_END])
def test_an_unsound_graph_is_never_compiled(text):
    with pytest.raises(UserError, match=r"workflow\.yaml: "):
        compile_workflow(parse_workflow(text))
