import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.core.errors import UserError
from workflows.library import library_names, library_text, library_workflow
from workflows.spec import Branch, Node, Workflow, dump_workflow, parse_workflow

NAMES = ("alpha", "beta", "gamma", "on", "yes", "null", "_1")
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
PARAMS = st.dictionaries(
    st.text(), SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(), SCALARS), max_size=3
)
BRANCHES = st.builds(Branch, when=st.none() | st.text(max_size=8), to=st.sampled_from([*NAMES, "end"]))
NODES = st.builds(Node, operator=st.text(max_size=8), params=PARAMS, next=st.lists(BRANCHES, min_size=1, max_size=3))
WORKFLOWS = st.builds(
    Workflow,
    start=st.sampled_from(NAMES),
    nodes=st.dictionaries(st.sampled_from(NAMES), NODES, min_size=1),
    max_visits=st.integers(1, 5),
    output=st.none() | st.sampled_from(NAMES),
)


@settings(deadline=None, max_examples=60)
@given(WORKFLOWS)
def test_what_is_dumped_reads_back_equal(workflow):
    assert parse_workflow(dump_workflow(workflow)) == workflow


def test_next_may_be_a_name_a_list_or_left_out():
    text = "start: a\nnodes:\n  a: {operator: x, next: b}\n  b: {operator: y, next: [{when: no, to: a}, {to: end}]}\n"
    with pytest.raises(UserError, match=r"nodes\.b\.next\.0\.when"):
        parse_workflow(text)  # YAML reads a bare `no` as false: told, not guessed
    workflow = parse_workflow(text.replace("no,", "failed,").replace("next: b", "next: end"))
    assert workflow.nodes["a"].next == (Branch(to="end"),) == Node(operator="x").next
    assert workflow.nodes["b"].next == (Branch(when="failed", to="a"), Branch(to="end"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("start: a\nnodes: {a: {operator: x}, a: {operator: y}}", "'a' is repeated"),
        ("start: a\nnodes: {a: &n {operator: x}, b: *n}", "aliases are not allowed"),
        ("start: a\nnodes: {a: {operator: x, retries: 2}}", r"nodes\.a\.retries"),
        ("start: a\nnodes: {a: {operator: x}}\nmax_visits: 6", "max_visits"),
        ("start: a\nnodes: {}", "nodes"),
        ("start: a\nnodes: {end: {operator: x}}", "the word is taken"),
        ("start: a\nnodes: {a b: {operator: x}}", "must be a letter"),
        ("start: a\nnodes: {a: {operator: x, params: {t: .nan}}}", "NaN"),
        ("start: a\nnodes: {a: {operator: x, params: {t: 2026-01-01}}}", r"params\.t"),
        ("start: a\nnodes: {a: {operator: x, params: {t: 2026-13-45}}}", "YAML"),
        ("start: a\nnodes: {? [a] : {operator: x}}", "not a word"),
        ("schema: 2\nstart: a\nnodes: {a: {operator: x}}", "schema"),
        ("start: a\nnodes: {" + ", ".join(f"n{i}: {{operator: x}}" for i in range(9)) + "}", "at most 8"),
        ("[" * 3000, "nested too deeply"),
        ("a: [", "YAML"),
        ("", "workflow.yaml"),
        ("x" * 70_000, "longer than"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(text, told):
    with pytest.raises(UserError, match=told) as caught:
        parse_workflow(text)
    assert "workflow.yaml" in str(caught.value)


def test_every_seed_graph_reads_and_dumps():
    assert len(library_names()) >= 8
    for name in library_names():
        workflow = library_workflow(name)
        assert parse_workflow(dump_workflow(workflow)) == workflow
        assert library_text(name).startswith("#")


def test_an_unknown_seed_graph_is_named_with_its_nearest():
    with pytest.raises(UserError, match="did you mean 'extract'"):
        library_workflow("extrct")
