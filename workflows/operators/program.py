"""`program`: the model writes one arithmetic expression, and a bounded evaluator works it out exactly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, model_validator

from evolve.core.cases import input_text
from evolve.core.errors import HarnessFault
from evolve.core.hashing import JSONValue
from evolve.core.messages import Capability
from workflows.asking.calls import Calls
from workflows.asking.demonstrations import Demonstration, written
from workflows.asking.prompts import compose_prompt
from workflows.kit import View
from workflows.operators.contract import Operator, Produced
from workflows.params import AskParams
from workflows.reading.arithmetic import evaluate, format_expression, plain_number, tokenize
from workflows.reading.numbers import Decimals, find_numbers
from workflows.reading.replies import drop_thinking, excerpt, read_object

_KEY = "expression"
_MAX_OPERANDS = 40


class ProgramParams(AskParams):
    """Demonstrations give `expression`, or `output.expression`. `decimals` rounds the result, half away from zero.

    With `pin_operands` the reply is constrained to `a op b` (`steps: 2` also allows one more operator, with or without
    parentheses) over the numbers of the input and `constants`.
    """

    pin_operands: bool = False
    steps: Literal[1, 2] = 1
    constants: Annotated[tuple[float, ...], Field(max_length=20)] = ()
    decimal: Decimals = "auto"
    decimals: Annotated[int, Field(ge=0, le=10)] | None = None
    output_key: Annotated[str, Field(min_length=1)] = "answer"
    max_tokens: Annotated[int, Field(ge=1, le=1_024)] = 80

    @model_validator(mode="after")
    def _check_pins(self) -> ProgramParams:
        pinning = {"steps", "constants", "decimal"} & self.model_fields_set
        if pinning and not self.pin_operands:
            raise ValueError(f"{', '.join(sorted(pinning))} only matter with pin_operands: true")
        return self

    def needs(self) -> frozenset[Capability]:
        """JSON schemas where operands are pinned."""
        return super().needs() | ({Capability.JSON_SCHEMA} if self.pin_operands else set())

    def wrong_with(self, row: Demonstration) -> str:
        """It needs an expression, and where operands are pinned, one that a pinned reply can have."""
        try:
            operations = sum(token in "+-*/" for token in tokenize(_raw_expression(row)))
        except ValueError as error:
            return str(error)
        if self.pin_operands and not 1 <= operations <= self.steps:
            return f"the expression has {operations} operations, pinned replies have at most {self.steps}"
        return ""


class Program(Operator[ProgramParams]):
    """Numbers, + - * / and parentheses, at most 200 characters: it always ends, and runs no code."""

    name = "program"
    params = ProgramParams

    async def run(self, params: ProgramParams, view: View, calls: Calls) -> Produced:
        """{output_key: number}. A reply without a valid expression is a fault that says what was wrong."""
        said = await (_ask_pinned(params, view, calls) if params.pin_operands else _ask_free(params, view, calls))
        try:
            return Produced({params.output_key: plain_number(evaluate(said), params.decimals)})
        except ValueError as error:
            raise HarnessFault(str(error)) from error


async def _ask_free(params: ProgramParams, view: View, calls: Calls) -> str:
    prompt = compose_prompt(params, view, calls, _expression_of)
    reply = await calls.ask(params.role, replace(prompt.request(params.style), max_tokens=params.max_tokens))
    return find_expression(drop_thinking(reply.text))


async def _ask_pinned(params: ProgramParams, view: View, calls: Calls) -> str:
    numbers = [found.value for found in find_numbers(input_text(view.input), decimal=params.decimal)]
    operands = list(dict.fromkeys(_digits(n) for n in [*numbers[:_MAX_OPERANDS], *params.constants]))
    if not operands:
        raise HarnessFault("the input holds no number to calculate with")
    schema = {
        "type": "object",
        "properties": {_KEY: {"type": "string", "pattern": pinned_pattern(operands, params.steps)}},
        "required": [_KEY],
        "additionalProperties": False,
    }
    prompt = compose_prompt(params, view, calls, lambda row: written({_KEY: _expression_of(row)}))
    request = replace(prompt.request(params.style, free_text=False), max_tokens=params.max_tokens, json_schema=schema)
    reply = await calls.ask(params.role, request)
    said: JSONValue = read_object(reply.text, lambda value: "" if isinstance(value.get(_KEY), str) else f"no {_KEY}")
    if not re.match(pinned_pattern(operands, params.steps), said[_KEY]):
        raise HarnessFault(f"the expression {said[_KEY]!r} uses more than the numbers of the input")
    return str(said[_KEY])


def pinned_pattern(operands: Sequence[str], steps: int) -> str:
    """A regular expression for one (or one or two) operations over the operands; plain enough for every grammar."""
    number = f"({'|'.join(o.replace('.', chr(92) + '.') for o in operands)})"
    once = f"{number} [-+*/] {number}"
    if steps == 1:
        return f"^{once}$"
    forms = (once, f"{once} [-+*/] {number}", f"\\({once}\\) [-+*/] {number}", f"{number} [-+*/] \\({once}\\)")
    return f"^({'|'.join(forms)})$"


def find_expression(text: str) -> str:
    """The last line that is an expression, without a label before it or a result behind it.

    Raises HarnessFault when no line is one.
    """
    if text.startswith("{"):
        return str(read_object(text, lambda value: "" if _KEY in value else f"no {_KEY}")[_KEY])
    for line in reversed(text.splitlines()):
        said = line.strip("` \t").rpartition(":")[2].partition("=")[0].strip("` .")
        try:
            evaluate(said)
        except ValueError:
            continue
        return said
    raise HarnessFault(f"the reply holds no arithmetic expression: {excerpt(text)}")


def _expression_of(row: Demonstration) -> str:
    try:
        return format_expression(tokenize(_raw_expression(row)))
    except ValueError as error:
        raise HarnessFault(f"demonstration {row.id!r}: {error}") from error


def _raw_expression(row: Demonstration) -> str:
    said = row.expression or (row.output.get(_KEY) if isinstance(row.output, dict) else None)
    if not isinstance(said, str):
        raise ValueError("no expression")
    return said


def _digits(number: float) -> str:
    text = format(Decimal(repr(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
