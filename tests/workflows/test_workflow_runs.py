import asyncio
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langsmith.utils import get_env_var

from evolve.core.errors import BudgetExceeded, HarnessFault, WorldError
from evolve.core.messages import ModelReply, Usage
from workflows.check import check_graph
from workflows.compile import compile_workflow
from workflows.kit import Kit, WorkflowFault
from workflows.routing import Route
from workflows.spec import END, Branch, Node, Workflow, parse_workflow

RETRY = """
start: answer
nodes:
  answer: {operator: generate, params: {prompt: p, parse: json}, next: check}
  check: {operator: verify, params: {node: answer, between: {x: [5, 9]}}, next: [{when: failed, to: answer}, {to: end}]}
output: answer
"""
REVISE = """
start: draft
nodes:
  draft: {operator: generate, params: {prompt: p, parse: json}, next: check}
  check: {operator: verify, params: {node: draft, between: {x: [5, 9]}}, next: [{when: failed, to: revise}, {to: end}]}
  revise: {operator: generate, params: {prompt: p, parse: json}, next: check}
"""
FILES = {"p": "{input} {check.message}"}
GENERATE = Node(operator="generate", params={"prompt": "p", "parse": "json"})


def counting(request, rng):
    """The number of the visit, from the name of the call."""
    return f'{{"x": {request.step.partition("#")[2].partition("/")[0]}}}'


async def test_each_visit_is_one_step_and_each_call_is_named(run, scripted):
    model = scripted(counting)
    outcome = await run(RETRY.replace("[5, 9]", "[2, 9]"), "question", model, files=FILES)
    assert outcome.output == {"x": 2}
    assert [(s.node, s.operator, s.visit, s.calls, s.error) for s in outcome.steps] == [
        ("answer", "generate", 1, 1, ""),
        ("check", "verify", 1, 0, ""),
        ("answer", "generate", 2, 1, ""),
        ("check", "verify", 2, 0, ""),
    ]
    assert [s.usage for s in outcome.steps][:2] == [Usage(10, 2), Usage()]
    assert outcome.steps[1].output == {"ok": False, "message": "x is 1, not a number from 2 to 9"}
    assert [r.step for r in model.requests] == ["answer#1/0", "answer#2/0"]
    assert [r.messages[-1].content for r in model.requests] == [
        "question ",
        "question x is 1, not a number from 2 to 9",
    ]


async def test_a_retry_that_runs_out_takes_the_exit_with_its_last_answer(run, scripted):
    outcome = await run(RETRY, "q", scripted(counting), files=FILES)
    assert outcome.output == {"x": 3} and [s.visit for s in outcome.steps] == [1, 1, 2, 2, 3, 3]


async def test_the_exit_is_taken_before_a_node_that_could_not_go_on(run, scripted):
    """After the third check nothing is revised: behind `revise` there is only the check, which is used up."""
    outcome = await run(REVISE, "q", scripted(counting), files=FILES)
    assert [s.node for s in outcome.steps] == ["draft", "check", "revise", "check", "revise", "check"]
    assert outcome.output == {"x": 2}


async def test_a_fault_of_its_own_carries_the_steps_so_far(run, scripted):
    replies = iter(['{"x": 1}', "no json"])
    with pytest.raises(WorkflowFault, match="answer: the reply holds no complete JSON object") as caught:
        await run(RETRY, "q", scripted(lambda request, rng: next(replies)), files=FILES)
    assert isinstance(caught.value, HarnessFault)
    assert [(s.node, s.visit, bool(s.error), s.calls) for s in caught.value.steps] == [
        ("answer", 1, False, 1),
        ("check", 1, False, 0),
        ("answer", 2, True, 1),
    ]
    assert caught.value.steps[-1].usage == Usage(10, 2)


@pytest.mark.parametrize("error", [WorldError("provider is down"), BudgetExceeded("calls", "1", "0")])
async def test_failures_of_the_world_and_of_the_budget_pass_through(scripted, error):
    def fail(request, rng):
        raise error

    steps = []
    with pytest.raises(type(error)) as caught:
        await compile_workflow(parse_workflow(RETRY)).run(
            "q", Kit(models={"agent": scripted(fail)}, files={"p": b"{input}"}), steps=steps
        )
    assert caught.value is error
    assert [(s.node, s.error) for s in steps] == [("answer", str(error))]


async def test_a_cancelled_run_leaves_its_steps_to_the_caller(scripted):
    class Slow:
        identity, capabilities = "slow", frozenset()

        async def reply(self, request):
            await asyncio.sleep(30)

    steps = []
    kit = Kit(models={"agent": Slow()}, files={"p": b"{input}"})
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(compile_workflow(parse_workflow(RETRY)).run("q", kit, steps=steps), 0.05)
    assert [(s.node, s.calls, s.error) for s in steps] == [("answer", 1, "stopped before it ended")]


@pytest.mark.parametrize(
    ("kit", "told"),
    [
        ({"models": {}, "files": {"p": b"{input}"}}, "no model plays the role 'agent'"),
        ({"models": {}, "files": {}}, "p: no such file"),
        ({"models": {}, "files": {"p": b"\xff"}}, "p: not UTF-8 at byte 0"),
    ],
)
async def test_what_the_kit_lacks_is_a_fault(kit, told):
    with pytest.raises(WorkflowFault, match=told):
        await compile_workflow(parse_workflow(RETRY)).run("q", Kit(**kit))


async def test_runs_at_once_do_not_touch_each_other(scripted):
    compiled = compile_workflow(parse_workflow(RETRY))

    def kit(bound):
        script = scripted(lambda request, rng: f'{{"x": {bound}, "q": "{request.messages[-1].content}"}}')
        return Kit(models={"agent": script}, files={"p": b"{input}"})

    outcomes = await asyncio.gather(*(compiled.run(f"q{i}", kit(5 + i % 5)) for i in range(40)))
    assert [o.output for o in outcomes] == [{"x": 5 + i % 5, "q": f"q{i}"} for i in range(40)]


async def test_seeds_depend_on_run_node_visit_and_call_but_not_on_names(run, scripted):
    async def seeds(text, seed):
        model = scripted('{"x": 0}')
        await run(text, "q", model, files=FILES, seed=seed)
        return [request.seed for request in model.requests]

    first = await seeds(REVISE, 1)
    assert len(set(first)) == len(first)
    assert await seeds(REVISE, 1) == first
    assert await seeds(REVISE.replace("revise", "again").replace("draft", "first"), 1) == first
    assert not set(await seeds(REVISE, 2)) & set(first)


async def test_node_names_may_be_words_of_the_engine(run, scripted):
    for name in ("answer", "visits", "outputs", "state", "start", "__start__", "node"):
        text = f"start: {name}\nnodes: {{{name}: {{operator: generate, params: {{prompt: p}}}}}}"
        assert (await run(text, "q", scripted("yes"), files={"p": "{input}"})).output == "yes"


@st.composite
def sound_workflows(draw):
    """Every node leads on to the next one or to end, and may lead anywhere on an outcome before that."""
    count = draw(st.integers(1, 6))
    names = [f"n{i}" for i in range(count)]
    nodes = {}
    for i, name in enumerate(names):
        onward = Branch(to=names[i + 1] if i + 1 < count else END)
        if i and draw(st.booleans()):
            target = draw(st.sampled_from([*names, END]))
            params = {"node": names[0], "between": {"x": [0, draw(st.integers(0, 9))]}}
            branches = (Branch(when=draw(st.sampled_from(["passed", "failed"])), to=target), onward)
            nodes[name] = Node(operator="verify", params=params, next=branches)
        else:
            nodes[name] = GENERATE.model_copy(update={"next": (onward,)})
    return Workflow(start="n0", nodes=nodes, max_visits=draw(st.integers(1, 5)))


@settings(deadline=None, max_examples=60)
@given(sound_workflows(), st.integers(0, 10**6))
def test_every_checked_workflow_ends_within_its_bound_with_an_answer(workflow, seed):
    assert check_graph(workflow) == []

    class Random:
        identity, capabilities = "random", frozenset()

        async def reply(self, request):
            return ModelReply(f'{{"x": {random.Random(request.seed).randint(0, 9)}}}')

    kit = Kit(models={"agent": Random()}, files={"p": b"{input}"}, seed=seed)
    outcome = asyncio.run(compile_workflow(workflow).run("q", kit))
    visits = [s.node for s in outcome.steps]
    assert all(visits.count(name) <= workflow.max_visits for name in workflow.nodes)
    assert outcome.output["x"] in range(10)


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_any_checked_graph_has_a_way_on_whatever_the_outcomes(data):
    """Unlike above the graphs are arbitrary; most fail the check, the others must always end."""
    names = [f"n{i}" for i in range(data.draw(st.integers(1, 5)))]
    targets = st.sampled_from([*names, END, END])
    nodes = {}
    for name in names:
        first, second = Branch(when="failed", to=data.draw(targets)), Branch(to=data.draw(targets))
        params = {"node": "n0", "not_null": ["x"]}
        branches = (first, second) if data.draw(st.booleans()) else (second,)
        nodes[name] = Node(operator="verify", params=params, next=branches)
    workflow = Workflow(start="n0", nodes=nodes, max_visits=data.draw(st.integers(1, 5)))
    if any("answer" not in problem.message for problem in check_graph(workflow)):
        return
    route, here, visits = Route(workflow), "n0", dict.fromkeys(names, 0)
    while here != END:
        visits[here] += 1
        assert visits[here] <= workflow.max_visits
        here = route.next(here, data.draw(st.sampled_from(["passed", "failed"])), visits)


async def test_the_engine_costs_few_milliseconds_a_run(scripted):
    text = RETRY.replace("{to: end}]}", "{to: last}]}\n  last: {operator: generate, params: {prompt: p}}")
    compiled = compile_workflow(parse_workflow(text.replace("output: answer", "")))
    kit = Kit(models={"agent": scripted('{"x": 7}')}, files={"p": b"{input}"})
    await compiled.run("q", kit)
    started = time.process_time()
    for _ in range(50):
        assert len((await compiled.run("q", kit)).steps) == 3
    assert (time.process_time() - started) / 50 < 0.010, "about 0.0015 s is usual"


async def test_tracing_variables_of_other_programs_send_nothing_anywhere(run, scripted, monkeypatch):
    connections = []

    def connected(reader, writer):
        connections.append(writer)
        writer.close()

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        endpoint = "http://{}:{}".format(*server.sockets[0].getsockname())
        for key in ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING_V2"):
            monkeypatch.setenv(key, "true")
        for key in ("LANGSMITH", "LANGCHAIN"):
            monkeypatch.setenv(f"{key}_ENDPOINT", endpoint)
            monkeypatch.setenv(f"{key}_API_KEY", "k")
        get_env_var.cache_clear()
        await run(RETRY, "private", scripted('{"x": 7}'), files=FILES)
        await asyncio.sleep(0.5)
    get_env_var.cache_clear()
    assert connections == []
