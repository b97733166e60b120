"""The built-in scorers: what is right, what is wrong, and what cannot be told."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from evolve.core.errors import UserError
from evolve.core.protocols import Scorer
from evolve.core.yaml_document import parse_document
from evolve.evaluate.scorers import ScorerSettings, open_scorer


class Campaign(BaseModel):
    scorer: ScorerSettings


def scorer(kind: str, **options: object) -> Scorer:
    settings = Campaign.model_validate({"scorer": {"kind": kind, **options}}).scorer
    return open_scorer(settings, Path("."))


async def value(kind: str, output: object, expected: object, **options: object) -> float | None:
    score = await scorer(kind, **options).score(output, expected)
    assert score.reason
    return score.value


@pytest.mark.parametrize(
    ("output", "expected", "options", "result"),
    [
        ("Paris", "paris ", {}, 1.0),
        ("Paris", "paris ", {"strict": True}, 0.0),
        ("Paris!", "Paris", {}, 0.0),
        (4, "4", {}, 1.0),
        (True, "true", {}, 1.0),
        (1, True, {}, 0.0),
        ({"b": 1, "a": [2]}, {"a": [2], "b": 1}, {}, 1.0),
        ([1, 2], [2, 1], {}, 0.0),
        ({"a": 1}, "a", {}, 0.0),
        (None, "", {}, 0.0),
        ([float("nan")], [1], {}, 0.0),
        ("UK", ["UK", "United Kingdom"], {"any_of": True}, 1.0),
        ("France", ["UK", "United Kingdom"], {"any_of": True}, 0.0),
        ("UK", "UK", {"any_of": True}, None),
    ],
)
async def test_exact(output: object, expected: object, options: dict[str, object], result: float | None) -> None:
    assert await value("exact", output, expected, **options) == result


@pytest.mark.parametrize(
    ("output", "expected", "options", "result"),
    [
        ("12", 12, {}, 1.0),
        (" 1,234.50 ", "1234.5", {}, 1.0),
        ("1,23", 123, {}, 0.0),
        ("−3", -3, {}, 1.0),
        ("+.5", 0.5, {}, 1.0),
        ("2e3", 2000, {}, 1.0),
        (0.1 + 0.2, 0.3, {}, 1.0),
        (10**40 + 1, 10**40, {"relative": 0.0}, 0.0),
        (10**40, str(10**40), {"relative": 0.0}, 1.0),
        (100.9, 100, {"tolerance": 1.0}, 1.0),
        (101.1, 100, {"tolerance": 1.0}, 0.0),
        (103, 100, {"relative": 0.05}, 1.0),
        ("12 apples", 12, {}, 0.0),
        ("so 3 + 9 is 12 apples.", 12, {"read": "last"}, 1.0),
        ("12 of 13", 12, {"read": "last"}, 0.0),
        ("it costs $1,200.", 1200, {"read": "last"}, 1.0),
        ("none", 12, {"read": "last"}, 0.0),
        (True, 1, {}, 0.0),
        ("nan", 1, {}, 0.0),
        (float("inf"), 1, {}, 0.0),
        ("", 0, {}, 0.0),
        ("-", 0, {}, 0.0),
        ([12], 12, {}, 0.0),
        ("1e999999999", 1, {}, 0.0),
        ("٣", 3, {}, 0.0),
        ("12", "twelve", {}, None),
        ("12", None, {}, None),
        ("12", True, {}, None),
    ],
)
async def test_numeric(output: object, expected: object, options: dict[str, object], result: float | None) -> None:
    assert await value("numeric", output, expected, **options) == result


@pytest.mark.parametrize(
    ("output", "expected", "options", "result"),
    [
        ({"name": " ANA ", "age": "41"}, {"name": "Ana", "age": 41}, {}, 1.0),
        ('{"name": "Ana", "age": 41}', {"name": "Ana", "age": 41}, {}, 1.0),
        ({"name": "Ana", "age": 40}, {"name": "Ana", "age": 41}, {}, 0.0),
        ({"name": "Ana", "age": 40}, {"name": "Ana", "age": 41}, {"partial": True}, 0.5),
        ({"name": "Ana"}, {"name": "Ana", "age": 41}, {"partial": True}, 0.5),
        ({"a": {"b": 1, "c": "x"}}, {"a": {"b": 1, "c": "y"}}, {"partial": True}, 0.5),
        ({"a": 1}, {"a": {"b": 1, "c": "y"}}, {"partial": True}, 0.0),
        ({"a": 1, "z": 2}, {"a": 1}, {}, 1.0),
        ({"a": 1, "z": 2}, {"a": 1}, {"extra": "wrong"}, 0.0),
        ({"a": 1, "z": 2}, {"a": 1}, {"extra": "wrong", "partial": True}, 0.5),
        ({"a": "X"}, {"a": "x"}, {"fields": {"a": "exact"}}, 0.0),
        ({"a": 5}, {"a": "5"}, {"fields": {"a": "number"}}, 1.0),
        ({"a": 1}, {"a": 1, "b": 2}, {"fields": {"b": "ignore"}}, 1.0),
        ({"a": True}, {"a": 1}, {}, 0.0),
        ({"a": None}, {"a": None}, {}, 1.0),
        ({}, {"a": None}, {}, 0.0),
        ({"a": [1, {"k": "V"}]}, {"a": [1.0, {"k": "v"}]}, {}, 1.0),
        ({"a": [1]}, {"a": [1, 2]}, {}, 0.0),
        ({"a": {"more": 1}}, {"a": {}}, {}, 1.0),
        ({}, {}, {"extra": "wrong"}, 1.0),
        ("prose", {"a": 1}, {}, 0.0),
        ('{"a": NaN}', {"a": 1}, {}, 0.0),
        ([1], {"a": 1}, {}, 0.0),
        ({"a": 1}, "a", {}, None),
    ],
)
async def test_json_fields(output: object, expected: object, options: dict[str, object], result: float | None) -> None:
    assert await value("json_fields", output, expected, **options) == result


@pytest.mark.parametrize(
    ("output", "expected", "options", "result"),
    [
        ("It is in PARIS, France", "paris", {}, 1.0),
        ("a category", "cat", {}, 0.0),
        ("a category", "cat", {"whole_words": False}, 1.0),
        ("112", "12", {}, 0.0),
        ("東京都です", "東京", {}, 1.0),
        ("red and blue", ["red", "green"], {}, 0.0),
        ("red and blue", ["red", "green"], {"need": "any"}, 1.0),
        ({"a": "red"}, "red", {}, 0.0),
        (None, "red", {}, 0.0),
        ("anything", "", {}, None),
        ("anything", [], {}, None),
        ("anything", None, {}, None),
    ],
)
async def test_contains(output: object, expected: object, options: dict[str, object], result: float | None) -> None:
    assert await value("contains", output, expected, **options) == result


@pytest.mark.parametrize(
    ("output", "expected", "options", "result"),
    [
        ('"Card_Arrival."', "card arrival", {}, 1.0),
        ("(B)", "b", {}, 1.0),
        ("the card arrival", "card arrival", {}, 0.0),
        ("spam", "ham", {"labels": ["spam", "ham"]}, 0.0),
        ("unsure", "ham", {"labels": ["spam", "ham"]}, 0.0),
        (["ham"], "ham", {}, 0.0),
        (None, "ham", {}, 0.0),
        ("ham", "eggs", {"labels": ["spam", "ham"]}, None),
        ("ham", None, {}, None),
    ],
)
async def test_choice(output: object, expected: object, options: dict[str, object], result: float | None) -> None:
    assert await value("choice", output, expected, **options) == result


def test_labels_that_are_the_same_are_refused() -> None:
    with pytest.raises(UserError, match="same but for case"):
        scorer("choice", labels=["Top-up", "top up"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(["exact", "numeric", "json_fields", "contains", "choice"]), JSON, JSON)
async def test_no_output_and_no_expected_value_makes_a_scorer_raise(
    kind: str, output: object, expected: object
) -> None:
    score = await scorer(kind).score(output, expected)
    assert score.value in (None, 0.0, 1.0)


@pytest.mark.parametrize("kind", ["exact", "numeric", "json_fields", "contains", "choice"])
def test_the_identity_follows_kind_and_options(kind: str) -> None:
    changed = {"exact": {"strict": True}, "numeric": {"read": "last"}, "json_fields": {"partial": True}}
    options = changed.get(kind) or {"contains": {"need": "any"}, "choice": {"labels": ["a"]}}[kind]
    assert scorer(kind).identity == scorer(kind).identity
    assert scorer(kind).identity != scorer(kind, **options).identity
    assert scorer(kind).identity.startswith(f"{kind}@")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{kind: exakt}", "did you mean 'exact'"),
        ("{kind: numeric, tolerence: 1}", "did you mean 'tolerance'"),
        ("{strict: true}", "there is no scorer"),
    ],
)
def test_a_misspelt_kind_or_option_names_the_nearest(text: str, hint: str) -> None:
    with pytest.raises(UserError, match=hint) as caught:
        parse_document(f"scorer: {text}", Campaign, "campaign.yaml")
    assert caught.value.place == "campaign.yaml:1"
