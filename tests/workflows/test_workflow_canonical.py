import random

from hypothesis import given, settings
from hypothesis import strategies as st

from workflows.canonical import workflow_hash
from workflows.diff import diff_workflows, match_nodes
from workflows.draw import draw_mermaid, draw_text
from workflows.library import library_names, library_workflow
from workflows.spec import END, Workflow, parse_workflow

LOOP = """
start: answer
nodes:
  answer: {operator: generate, params: {prompt: p.md, parse: json}, next: check}
  check: {operator: verify, params: {node: answer, not_null: [x]}, next: [{when: failed, to: answer}, {to: last}]}
  last: {operator: generate, params: {prompt: q.md}}
max_visits: 2
output: last
"""


def rename(workflow: Workflow, names: dict[str, str], seed: int = 0) -> Workflow:
    """The same workflow with other node names and shuffled keys."""
    rng = random.Random(seed)
    raw = workflow.model_dump(mode="json")
    nodes = {}
    for old in rng.sample(sorted(raw["nodes"]), len(raw["nodes"])):
        node = raw["nodes"][old]
        node["next"] = [{**branch, "to": names.get(branch["to"], branch["to"])} for branch in node["next"]]
        params = {**node["params"]}
        if "node" in params:
            params["node"] = names.get(params["node"], params["node"])
        node["params"] = {key: params[key] for key in rng.sample(sorted(params), len(params))}
        nodes[names.get(old, old)] = node
    output = names.get(raw["output"], raw["output"])
    return Workflow.model_validate(
        {**raw, "start": names.get(raw["start"], raw["start"]), "nodes": nodes, "output": output}
    )


@settings(deadline=None, max_examples=60)
@given(st.sampled_from([*library_names(), "loop"]), st.permutations([f"n{i}" for i in range(8)]), st.integers(0, 99))
def test_the_hash_ignores_names_and_key_order_and_the_diff_sees_only_names(name, fresh, seed):
    workflow = parse_workflow(LOOP) if name == "loop" else library_workflow(name)
    names = dict(zip(workflow.nodes, fresh, strict=False))
    renamed = rename(workflow, names, seed)
    assert workflow_hash(renamed) == workflow_hash(workflow)
    assert sorted(diff_workflows(workflow, renamed)) == sorted(f"renamed node {a} → {b}" for a, b in names.items())
    assert diff_workflows(workflow, rename(workflow, {}, seed)) == []


def test_defaults_written_out_change_nothing():
    written_out = LOOP.replace("{prompt: q.md}", "{prompt: q.md, temperature: 0, max_tokens: 256, role: agent}")
    assert workflow_hash(parse_workflow(written_out)) == workflow_hash(parse_workflow(LOOP))
    assert diff_workflows(parse_workflow(LOOP), parse_workflow(written_out)) == []


CHANGES = [
    ("q.md", "r.md", ['node last: params.prompt "q.md" → "r.md"']),
    ("{to: last}", "{to: end}", None),
    ("max_visits: 2", "max_visits: 3", ["max_visits 2 → 3"]),
    ("output: last", "output: answer", ["output last → answer"]),
    ("output: last", "", ["output last → last answer"]),
    ("{when: failed, to: answer}, {to: last}", "{when: passed, to: last}, {to: answer}", None),
    ("start: answer", "start: check", ["start answer → check"]),
    ("{node: answer,", "{node: last,", ['node check: params.node "answer" → "last"']),
]


def test_every_change_of_meaning_changes_the_hash_and_is_told():
    before = parse_workflow(LOOP)
    hashes = {workflow_hash(before)}
    for old, new, told in CHANGES:
        after = parse_workflow(LOOP.replace(old, new, 1))
        hashes.add(workflow_hash(after))
        lines = diff_workflows(before, after)
        assert lines and (told is None or lines == told), (new, lines)
    assert len(hashes) == len(CHANGES) + 1


def test_nodes_added_removed_and_rewired_are_told():
    before = parse_workflow("start: a\nnodes: {a: {operator: generate, params: {prompt: p.md}}}")
    after = parse_workflow(LOOP)
    assert diff_workflows(before, after) == [
        "renamed node a → answer",
        "added node check (verify)",
        "added node last (generate)",
        'node answer: params.parse "text" → "json"',
        "node answer: next end; now check",
        "max_visits 3 → 2",
        "output last answer → last",
    ]
    assert "removed node check (verify)" in diff_workflows(after, before)


def test_a_branch_behind_one_that_always_wins_means_nothing():
    dead = LOOP.replace("{to: last}]", "{to: last}, {when: passed, to: end}]")
    assert workflow_hash(parse_workflow(dead)) == workflow_hash(parse_workflow(LOOP))


def test_nodes_are_matched_by_what_they_do():
    swapped = rename(parse_workflow(LOOP), {"answer": "x", "last": "y"})
    assert match_nodes(parse_workflow(LOOP), swapped) == {"answer": "x", "check": "check", "last": "y"}


def test_pictures_show_every_node_edge_and_limit():
    workflow = parse_workflow(LOOP)
    assert draw_text(workflow).splitlines() == [
        "start → answer",
        "  answer  generate(p.md, json)  →  check",
        "  check   verify(answer)  →  failed → answer, else → last",
        "  last    generate(q.md)  →  end",
        "output: answer of last; each node at most 2 times",
    ]
    mermaid = draw_mermaid(workflow)
    assert mermaid.startswith("flowchart TD\n") and '  n_check -- "failed" --> n_answer\n' in mermaid
    for name, node in workflow.nodes.items():
        assert all(f"--> {'finish' if b.to == END else 'n_' + b.to}" in mermaid for b in node.next), name


def test_labels_in_mermaid_are_escaped():
    workflow = parse_workflow("start: a\nnodes: {a: {operator: generate, params: {prompt: '\"><script>.md'}}}")
    assert "&quot;&gt;&lt;script&gt;" in draw_mermaid(workflow)
