"""Signatures are read strictly, and calls are held to them."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from evolve.core.errors import UserError
from tool_forge.contract import call_schema, check_call, read_tools

TOOLS = """
schema: 1
tools:
  - name: cancel_order
    description: Cancels one order.
    parameters:
      - {name: order_id, type: integer, description: The number of the order.}
      - {name: reason, type: enum, values: [late, broken, other], required: false}
  - name: convert_amount
    description: Converts money.
    parameters:
      - {name: amount, type: number}
      - {name: currency, type: string}
      - {name: exact, type: boolean, required: false}
"""
READ = read_tools(TOOLS)


def test_signatures_are_read_in_file_order() -> None:
    assert list(READ) == ["cancel_order", "convert_amount"]
    assert READ["cancel_order"].parameters[1].values == ("late", "broken", "other")


def test_the_schema_of_a_call_names_the_tool_and_types_its_arguments() -> None:
    schema = call_schema(READ["cancel_order"])
    assert json.loads(json.dumps(schema)) == schema
    assert schema["properties"]["tool"] == {"const": "cancel_order"}
    assert schema["properties"]["args"]["properties"]["reason"] == {
        "type": "string",
        "enum": ["late", "broken", "other"],
    }
    assert schema["properties"]["args"]["required"] == ["order_id"]


@pytest.mark.parametrize(
    "call",
    [
        {"tool": "cancel_order", "args": {"order_id": 7}},
        {"tool": "cancel_order", "args": {"order_id": 7.0, "reason": "late"}},
        {"tool": "convert_amount", "args": {"amount": 3.5, "currency": "EUR", "exact": True}},
    ],
)
def test_calls_that_keep_to_the_contract(call: dict[str, Any]) -> None:
    assert check_call(call, READ) == []


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("cancel", "a call is an object"),
        ({"tool": "cancel_order"}, "exactly the keys"),
        ({"tool": "cancel_orders", "args": {}}, "did you mean 'cancel_order'?"),
        ({"tool": ["x"], "args": {}}, "unknown tool"),
        ({"tool": "cancel_order", "args": []}, "args must be an object"),
        ({"tool": "cancel_order", "args": {}}, "missing argument 'order_id'"),
        ({"tool": "cancel_order", "args": {"order_id": True}}, "must be an integer"),
        ({"tool": "cancel_order", "args": {"order_id": 1.5}}, "must be an integer"),
        ({"tool": "cancel_order", "args": {"order_id": 1, "reason": "bored"}}, "one of late, broken, other"),
        ({"tool": "cancel_order", "args": {"order_id": 1, "reasn": "late"}}, "did you mean 'reason'?"),
        ({"tool": "convert_amount", "args": {"amount": math.nan, "currency": "EUR"}}, "must be a number"),
        ({"tool": "convert_amount", "args": {"amount": 1, "currency": 3}}, "must be a string"),
    ],
)
def test_calls_that_break_it_say_how(call: Any, problem: str) -> None:
    assert problem in " ".join(check_call(call, READ))


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("name: cancel_order", "name: cancel", "tools.0.name"),
        ("name: convert_amount", "name: cancel_order", "tools"),
        ("type: boolean", "type: bool", "tools.1.parameters.2.type"),
        ("values: [late, broken, other], ", "", "tools.0.parameters.1"),
        ("description: Converts money.", "descripton: Converts money.", "tools.1"),
        ("schema: 1", "schema: 2", "schema"),
        ("tools:", "tools: [", "tools.yaml"),
    ],
)
def test_a_broken_file_names_the_key(old: str, new: str, place: str) -> None:
    with pytest.raises(UserError) as error:
        read_tools(TOOLS.replace(old, new))
    assert place in error.value.place


def test_more_than_five_parameters_are_refused() -> None:
    six = "\n".join(f"      - {{name: p{number}, type: string}}" for number in range(6))
    with pytest.raises(UserError, match="at most 5"):
        read_tools(f"schema: 1\ntools:\n  - name: do_it\n    description: x\n    parameters:\n{six}\n")
