import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evolve.core.errors import HarnessFault
from workflows.reading.replies import drop_thinking, read_object, read_text
from workflows.reading.schemas import Schema

SCORE = Schema({"type": "object", "properties": {"score": {"type": "number", "maximum": 1}}, "required": ["score"]})
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda c: st.lists(c) | st.dictionaries(st.text(), c),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ('<think>score 0.05 {"score": 0.05}</think>\n```json\n{"score": 0.88}\n```', {"score": 0.88}),
        ('{"score": 0.1} no, rather {"score": 0.2}', {"score": 0.2}),
        ('{"score": 0.3} and a note {"comment": "fine"}', {"score": 0.3}),
        ('{"score": 0.3} and {"score": 7}', {"score": 0.3}),
        ('reasoning without an opening tag {"score": 0.9}</think>{"score": 0.4}', {"score": 0.4}),
        ('set {x} then {"score": 0.5} and {broken', {"score": 0.5}),
        ('{"score": 0.6} {"score": NaN} {"score": 1e999}', {"score": 0.6}),
    ],
)
def test_the_last_object_that_fits_outside_the_thinking_is_the_answer(reply, answer):
    assert read_object(reply, SCORE.complain) == answer


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ('<think>so {"score": 0.5}', "unclosed <think>"),
        ('<think>a</think> <think>b {"score": 0.5}', "unclosed <think>"),
        ("the score is 0.5", "no complete JSON object"),
        ('{"score": 0.5', "no complete JSON object"),
        ('{"score": 3}', "greater than the maximum"),
        ('{"grade": 1}', "'score' is a required property"),
        ("", "no complete JSON object"),
        ("{" * 100_000, "no complete JSON object"),
        ('{"a":' * 20_000, "no complete JSON object"),
    ],
)
def test_a_reply_without_a_fitting_object_is_a_fault_that_says_why(reply, told):
    with pytest.raises(HarnessFault, match=told):
        read_object(reply, SCORE.complain)


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.text(), JSON))
def test_any_object_without_thinking_tags_is_read_back_from_prose(value):
    written = json.dumps(value)
    assume("think>" not in written)
    assert read_object(f"Answer: {written} done") == value


def test_text_is_what_stands_outside_the_thinking():
    assert read_text("<think>a</think> yes \n") == "yes"
    assert drop_thinking("<think>a\n</think>x<think>b</think>y") == "xy"
    assert drop_thinking("a plan that began before the reply</think>x") == "x"
    with pytest.raises(HarnessFault, match="empty"):
        read_text("<think>everything</think>  ")


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ({"pattern": "(a+)+$"}, "'pattern' is not supported"),
        ({"properties": {"a": {"patternProperties": {}}}}, "patternProperties"),
        ({"items": {"$ref": "https://example.org/s.json"}}, "leaves the file"),
        ({"type": "objekt"}, "not a JSON schema"),
    ],
)
def test_a_schema_that_could_hang_or_reach_outside_is_refused(raw, told):
    with pytest.raises(ValueError, match=told):
        Schema(raw)


def test_a_property_may_be_called_like_a_keyword():
    schema = Schema({"properties": {"pattern": {"type": "string"}, "$ref": {"enum": ["pattern"]}}})
    assert schema.complain({"pattern": "(a+)+"}) == ""
    assert "$.pattern" in schema.complain({"pattern": 1})


def test_references_inside_a_schema_work_and_bad_ones_are_complaints():
    schema = Schema({"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}})
    assert (schema.complain({"a": 1}), "integer" in schema.complain({"a": "x"})) == ("", True)
    assert "does not hold" in Schema({"$ref": "#/nowhere"}).complain(1)
    assert "without end" in Schema({"$ref": "#"}).complain(1)
