"""The model writes an expression over the numbers of the question; a calculator works it out."""

from __future__ import annotations

from collections.abc import Sequence

from evolve.core.hashing import JSONValue
from evolve.core.messages import Capability
from harnesses.catalog.expressions import PERCENT, decimals_of, find_expression, numbers_in
from harnesses.catalog.occasion import LONG_TEXT, Draft, Occasion, ask_role, demonstration_path, finish, prompt_path
from harnesses.proposal import Proposal
from harnesses.shapes import Example, Field, Kind, Shape, field_value, is_number, to_number
from workflows.asking.demonstrations import Demonstration, dump_demonstrations
from workflows.reading.arithmetic import tokenize
from workflows.spec import Node

SHOTS = 6
FEWEST = 3


def propose_calculator(occasion: Occasion) -> Proposal | None:
    """`program` with demonstrations whose expressions were found by search; fits objects of one numeric field."""
    shape, field = occasion.shape, _number_field(occasion.shape)
    if field is None or not field.key:
        return None
    decimals = decimals_of(field.values)
    worked = [(e, x) for e in shape.examples if (x := _expression_of(e, field, decimals)) and len(e.text) <= LONG_TEXT]
    if len(worked) < FEWEST:
        return None
    demonstrations, prompt = demonstration_path("calculator", shape), prompt_path("calculator", shape)
    picked = _pick_varied(occasion, worked)
    params: dict[str, JSONValue] = {
        "prompt": prompt,
        "demonstrations": demonstrations,
        "output_key": field.key,
        "decimals": decimals,
        "style": "plain" if Capability.PLAIN in occasion.capabilities else "chat",
        **ask_role(occasion.parent),
        **(_pins(picked) if Capability.JSON_SCHEMA in occasion.capabilities else {}),
    }
    draft = Draft(
        entry="calculator",
        nodes={"answer": Node(operator="program", params=params)},
        start="answer",
        lever="an expression over the numbers of the question, worked out by a calculator",
        cause="are miscalculated",
        files={demonstrations: _expression_rows(picked), prompt: b"{input}\n"},
    )
    return finish(occasion, draft)


def _pins(picked: Sequence[tuple[Example, str]]) -> dict[str, JSONValue]:
    """Operands pinned to the question, with as many steps and constants as the demonstrations need."""
    expressions = [tokenize(expression) for _, expression in picked]
    needed = max(sum(token in "+-*/" for token in tokens) for tokens in expressions)
    pins: dict[str, JSONValue] = {"pin_operands": True, "steps": needed}
    questions = [numbers_in(example.text) for example, _ in picked]
    if any(PERCENT in tokens and PERCENT not in q for tokens, q in zip(expressions, questions, strict=True)):
        pins["constants"] = [int(PERCENT)]
    return pins


def _number_field(shape: Shape) -> Field | None:
    only = shape.fields[0] if len(shape.fields) == 1 else None
    return only if only is not None and Kind.NUMBER in only.kinds else None


def _expression_of(example: Example, field: Field, decimals: int) -> str | None:
    value = field_value(example.expected, field.key)
    return find_expression(example.text, to_number(value), decimals=decimals) if is_number(value) else None


def _pick_varied(occasion: Occasion, worked: Sequence[tuple[Example, str]]) -> list[tuple[Example, str]]:
    """Takes turns over the operators that occur, in random order.

    Expressions that use every number of their question come first: one that leaves numbers out may fit by chance.
    Then simple expressions and short questions.
    """
    groups: dict[str, list[tuple[Example, str]]] = {}
    for example, expression in sorted(worked, key=_doubt):
        groups.setdefault("".join(sorted(set(expression) & set("+-*/"))), []).append((example, expression))
    picked: list[tuple[Example, str]] = []
    while len(picked) < SHOTS and any(groups.values()):
        for group in groups.values():
            if group and len(picked) < SHOTS:
                picked.append(group.pop(0))
    occasion.rng.shuffle(picked)
    return picked


def _doubt(pair: tuple[Example, str]) -> tuple[int, int, int, str]:
    example, expression = pair
    tokens = tokenize(expression)
    unused = sum(number not in tokens for number in numbers_in(example.text))
    return unused, len(tokens), len(example.text), example.id


def _expression_rows(picked: Sequence[tuple[Example, str]]) -> bytes:
    rows = (Demonstration(id=e.id, input=e.text, output=e.expected, expression=x) for e, x in picked)
    return dump_demonstrations(tuple(rows))
