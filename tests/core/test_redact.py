"""Redaction: secrets go, everything else stays, and it costs next to nothing."""

from __future__ import annotations

import timeit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.core.errors import UserError
from evolve.core.redact import Redactor, redacted_error, shape_of

SECRET = 'q9-Zt"7\\é\nplainly-unique'
ENVIRONMENT = {"SHOP_API_KEY": SECRET, "TOKENIZERS_PARALLELISM": "disabled", "GIT_AUTHOR_NAME": "Jane Doe-Smith"}


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("key sk-ant-api03-" + "aB3_" * 8 + " end", "key [redacted:anthropic_key] end"),
        ("(sk-" + "x1" * 16 + ")", "([redacted:openai_key])"),
        ("ghp_" + "a" * 36, "[redacted:github_token]"),
        ("id AKIAIOSFODNN7EXAMPLE.", "id [redacted:aws_key]."),
        ("Authorization: Bearer abc.def-123456789xyz==\nnext", "Authorization: Bearer [redacted:bearer]\nnext"),
        ("-----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY-----\nrest", "[redacted:private_key]\nrest"),
        ("cut -----BEGIN PRIVATE KEY-----\nMHcC", "cut [redacted:private_key]"),
    ],
)
def test_well_known_keys_are_replaced_by_their_kind(text: str, clean: str) -> None:
    assert Redactor().text(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "task-management-of-a-rather-long-list, risk-free",
        "the bearer of this letter, Bearer authentication-is-explained-here",
        "high-rise, through, AKIA and PRIVATE KEY----- alone",
        "tokenizers are disabled by Jane Doe-Smith",
    ],
)
def test_honest_text_stays_as_it_is(text: str) -> None:
    assert Redactor.of(ENVIRONMENT).text(text) is text


def test_values_of_secret_variables_are_replaced_as_they_are_and_inside_json() -> None:
    import json

    redactor = Redactor.of(ENVIRONMENT)
    for form in (SECRET, json.dumps(SECRET), json.dumps(SECRET, ensure_ascii=False)):
        clean = redactor.text(f"it is {form}!")
        assert "[redacted:SHOP_API_KEY]" in clean
        assert "plainly-unique" not in clean


def test_named_variables_and_passwords_in_addresses_count_as_secrets() -> None:
    environment = {"MY_LLM": "abcdefgh-1", "DATABASE": "postgres://me:hunter2hunter2@host/db"}
    redactor = Redactor.of(environment, ["MY_LLM"])
    assert redactor.text("abcdefgh-1 hunter2hunter2") == "[redacted:MY_LLM] [redacted:DATABASE]"


def test_a_secret_cannot_hide_in_a_made_up_mark() -> None:
    assert "abcdefgh-1" not in Redactor.of({"X_TOKEN": "abcdefgh-1"}).text("[redacted:abcdefgh-1]")


def test_errors_lose_their_secrets_and_keep_their_kind() -> None:
    error = redacted_error(UserError("bad abcdefgh-1", place="abcdefgh-1"), Redactor.of({"X_TOKEN": "abcdefgh-1"}))
    assert isinstance(error, UserError)
    assert "abcdefgh-1" not in f"{error} {error.message} {error.place}"


secrets = st.dictionaries(
    st.from_regex(r"\A[A-D]_KEY\Z"), st.text(st.sampled_from("ab[]:sk-redct1"), max_size=12), max_size=4
)
texts = st.text(st.sampled_from("ab[]:sk-redct1 _KEYABCD") | st.characters(), max_size=200)


@given(secrets, texts)
def test_redaction_never_raises_and_repeating_it_changes_nothing(environment: dict[str, str], text: str) -> None:
    redactor = Redactor.of(environment)
    once = redactor.text(text)
    assert redactor.text(once) == once


@given(st.text(max_size=100), st.text(max_size=100))
def test_only_the_secret_is_replaced(before: str, after: str) -> None:
    redactor = Redactor({"\ue000secret\ue000": "X_KEY"})
    if not any(map(Redactor().finds, (before, after, before + after))):
        assert redactor.text(before + "\ue000secret\ue000" + after) == before + "[redacted:X_KEY]" + after


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
def test_a_value_without_a_secret_is_the_same_object(value: object) -> None:
    assert Redactor.of(ENVIRONMENT).value(value) is value


def test_secrets_are_found_anywhere_in_a_value() -> None:
    clean = Redactor.of({"X_TOKEN": "abcdefgh-1"}).value({"abcdefgh-1": [("abcdefgh-1", 1)], "n": 2.5})
    assert clean == {"[redacted:X_TOKEN]": [["[redacted:X_TOKEN]", 1]], "n": 2.5}


@given(st.text(max_size=80))
def test_a_shape_keeps_length_and_layout_and_is_its_own_shape(text: str) -> None:
    shape = shape_of(text)
    assert len(shape) == len(text)
    assert [c for c in shape if c.isspace()] == [c for c in text if c.isspace()]
    assert shape_of(shape) == shape


def test_two_kilobytes_cost_little() -> None:
    redactor = Redactor.of({f"S{i}_API_KEY": f"{i}f8a7b6c5d4-{i}" * 3 for i in range(8)})
    text = ("Customer 12 wrote about the desk-front, risk-free. " * 60)[:2048]
    best = min(timeit.repeat(lambda: redactor.text(text), number=200, repeat=5)) / 200
    assert best < 100e-6  # measured: 10 µs; the bound leaves room for a busy machine
