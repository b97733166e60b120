"""Answer shapes are read from train answers alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harnesses.catalog.expressions import decimals_of, find_expression
from harnesses.shapes import Example, Kind, Shape, infer_shapes
from workflows.reading.arithmetic import evaluate

ROUTES = [
    ("charged twice", "billing"),
    ("wrong invoice", "billing"),
    ("box lost", "shipping"),
    ("no parcel", "shipping"),
]


def _only(rows: list[tuple[str, object]]) -> Shape:
    (shape,) = infer_shapes([Example(str(number), text, expected) for number, (text, expected) in enumerate(rows)])
    return shape


def test_answers_are_grouped_by_keys_or_type_largest_group_first() -> None:
    examples = [
        Example(str(n), "x", e) for n, e in enumerate([{"b": 1, "a": 2}, {"a": 0, "b": 0}, 7, "x", True, None, [1]])
    ]
    names = [shape.name for shape in infer_shapes(examples)]
    assert names[0] == "{a, b}"
    assert set(names) == {"{a, b}", "number", "text", "boolean", "null", "list"}


def test_few_repeated_texts_are_labels() -> None:
    field = _only([(text, {"team": team}) for text, team in ROUTES]).fields[0]
    assert Kind.LABEL in field.kinds
    assert set(field.values) == {"billing", "shipping"}


def test_texts_that_rarely_repeat_are_no_labels() -> None:
    field = _only([(f"about {name}", {"city": name}) for name in ("Rome", "Oslo", "Lima", "Rome", "Bern")]).fields[0]
    assert Kind.LABEL not in field.kinds
    assert Kind.SPAN in field.kinds


def test_numbers_dates_amounts_and_spans_are_told_apart() -> None:
    rows: list[tuple[str, object]] = [
        ("Paid $12.50 on 3 May 2024 to Acme", {"sum": 12.5, "day": "2024-05-03", "to": "Acme"}),
        ("Paid $7.00 on 9 June 2023 to Initech", {"sum": 7.0, "day": "2023-06-09", "to": "Initech"}),
    ]
    kinds = {field.key: field.kinds for field in _only(rows).fields}
    assert {Kind.NUMBER, Kind.AMOUNT} <= kinds["sum"]
    assert Kind.DATE in kinds["day"]
    assert Kind.SPAN not in kinds["day"]
    assert Kind.SPAN in kinds["to"]


def test_tool_calls_are_recognised_by_their_form() -> None:
    assert _only([("x", {"tool": "stop_it", "args": {}}), ("y", {"tool": "go_on", "args": {"n": 1}})]).is_call
    assert not _only([("x", {"tool": "hammer", "args": 3})]).is_call


ANSWERS = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.dictionaries(st.text(), st.integers())


@settings(max_examples=50)
@given(st.lists(st.tuples(st.text(max_size=9), ANSWERS), max_size=8))
def test_any_answers_have_shapes_that_cover_every_example(rows: list[tuple[str, object]]) -> None:
    examples = [Example(str(number), text, expected) for number, (text, expected) in enumerate(rows)]
    ids = [example.id for shape in infer_shapes(examples) for example in shape.examples]
    assert sorted(ids) == sorted(example.id for example in examples)


@pytest.mark.parametrize(
    ("text", "answer", "decimals", "expression"),
    [
        ("7 boxes of 12 pens", 84, 0, "7 * 12"),
        ("18 of 45 are gone", 27, 0, "45 - 18"),
        ("1,200 split over 8", 150, 0, "1200 / 8"),
        ("10 euros shared by 3", 3.33, 2, "10 / 3"),
        ("25% of 80", 20, 0, None),
        ("15 percent of 240", 36, 0, None),
        ("2 and 2.0 and 4", 4, 0, None),
        ("5 boxes of 5", 25, 0, None),
        ("3 and 90", 13, 0, None),
        ("no numbers", 1, 0, None),
        ("1 2 3 4 5 6 7", 28, 0, None),
    ],
)
def test_expressions_are_found_only_when_there_is_one_reading(
    text: str, answer: float, decimals: int, expression: str | None
) -> None:
    found = find_expression(text, answer, decimals=decimals)
    if expression is not None:
        assert found == expression
    elif found is not None:
        assert abs(float(evaluate(found)) - answer) < 1e-9, "what is found must at least be right"


@given(st.integers(2, 999), st.integers(2, 999), st.sampled_from("+-*/"))
def test_a_found_expression_gives_the_answer(a: int, b: int, operator: str) -> None:
    answer = float(evaluate(f"{a} {operator} {b}"))
    found = find_expression(f"{a} then {b}", answer, decimals=6)
    assert found is None or abs(float(evaluate(found)) - answer) < 1e-6


def test_ambiguous_expressions_are_left_out() -> None:
    assert find_expression("2 and 2.5 and 0.5 and 1", 3, decimals=0) is None


def test_decimals_are_those_of_the_most_exact_answer() -> None:
    assert decimals_of([3, 2.5, "7.125", "1,000"]) == 3
    assert decimals_of([100, 7]) == 0
