import contextlib
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflows.reading.arithmetic import evaluate, format_expression, plain_number, tokenize

NUMBERS = st.integers(0, 10**6).map(str) | st.decimals(0, 1000, places=2).map(str)
EXPRESSIONS = st.recursive(
    NUMBERS, lambda e: st.tuples(e, st.sampled_from("+-*"), e).map(lambda t: f"({t[0]} {t[1]} {t[2]})"), max_leaves=8
)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("10 - 4 - 3", 3),
        ("8 / 4 / 2", 1),
        ("-(3 - 10)", 7),
        ("1,200 × 3 ÷ 4", 900),
        ("$50 * 20%", 10),
        ("0.1 + 0.2", Fraction(3, 10)),
        (".5 * 4", 2),
    ],
)
def test_expressions_are_worked_out_exactly(expression, value):
    assert evaluate(expression) == value


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("2 ** 3", "number is missing"),
        ("1 / 0", "division by zero"),
        ("1 / (2 - 2)", "division by zero"),
        ("(1 + 2", "not closed"),
        ("1 + 2)", "unexpected"),
        ("1 +", "ends too early"),
        ("__import__('os')", "unexpected"),
        ("2 3", "unexpected '3'"),
        ("", "empty"),
        ("1+" * 101 + "1", "longer than 200"),
        ("(" * 60 + "1" + ")" * 60, "nested"),
        ("1e9", "unexpected"),
    ],
)
def test_everything_else_is_refused(expression, told):
    with pytest.raises(ValueError, match=told):
        evaluate(expression)


@settings(deadline=None, max_examples=60)
@given(EXPRESSIONS)
def test_it_agrees_with_python_on_rational_numbers(expression):
    exact = (
        "".join(f"Fraction('{t}')" if t[0].isdigit() else t for t in tokenize(expression))
        if len(expression) <= 200
        else ""
    )
    if exact:
        assert evaluate(expression) == eval(exact, {"Fraction": Fraction})
        assert evaluate(format_expression(tokenize(expression))) == evaluate(expression)


@settings(deadline=None, max_examples=60)
@given(st.text(alphabet="0123456789+-*/()., %$×", max_size=250))
def test_any_text_is_a_value_or_a_value_error(text):
    with contextlib.suppress(ValueError):
        assert isinstance(plain_number(evaluate(text), 2), int | float)


def test_results_are_whole_where_they_can_be_and_round_half_away_from_zero():
    assert [plain_number(Fraction(v), None) for v in ("4", "1/2")] == [4, 0.5]
    assert isinstance(plain_number(Fraction(4), None), int)
    assert [plain_number(Fraction(v), 2) for v in ("2.675", "-2.675", "1/3", "3.999")] == [2.68, -2.68, 0.33, 4]
    with pytest.raises(ValueError, match="too large"):
        plain_number(Fraction(10) ** 400, None)
