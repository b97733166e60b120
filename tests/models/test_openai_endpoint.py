"""What an endpoint is called, which keys it takes, and how stop sequences are kept from a listener."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.core.errors import UserError
from evolve.models.held_back import HeldBack, find_stop
from evolve.models.openai_endpoint import OFFICIAL_URL, OpenAIEndpoint


def test_the_identity_differs_only_where_answers_could() -> None:
    url = "http://localhost:1/v1"
    plain = OpenAIEndpoint("m", url)
    same = OpenAIEndpoint("m", url, key="another", key_name="K", timeout_seconds=1)
    assert plain.identity == same.identity == f"openai:m@{url}"
    others = {OpenAIEndpoint("m", url, api="responses").identity, OpenAIEndpoint("m", url, sampling=False).identity}
    assert len(others | {plain.identity}) == 3
    assert OpenAIEndpoint("m").identity == f"openai:m@{OFFICIAL_URL}"


@pytest.mark.parametrize("key", ["two words", "line\n", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(UserError, match=r"\$SOME_KEY") as caught:
        OpenAIEndpoint("m", key=key, key_name="SOME_KEY")
    assert key not in str(caught.value)


STOPS = st.lists(st.text("ab\n", min_size=1, max_size=3), min_size=1, max_size=3).map(tuple)


@given(st.lists(st.text("ab\n", max_size=4), max_size=8), STOPS)
def test_nobody_hears_a_stop_sequence_however_the_text_is_cut_up(pieces: list[str], stops: tuple[str, ...]) -> None:
    held = HeldBack(stops)
    heard = [held.pass_on(piece) for piece in pieces]
    text = "".join(pieces)
    end = find_stop(text, stops)
    assert "".join([*heard, held.rest()]) == (text if end is None else text[:end])


@pytest.mark.parametrize(
    ("text", "stops", "end"),
    [
        ("aba", ("aba", "b"), 1),
        ("ab", ("b", "ab"), 0),
        ("abc", ("c", ""), 2),
        ("abc", ("d",), None),
        ("", ("a",), None),
    ],
)
def test_writing_ends_with_the_stop_sequence_that_is_whole_first(text: str, stops: tuple[str, ...], end: int) -> None:
    assert find_stop(text, stops) == end


def test_a_hidden_key_leaves_no_masked_part_of_it() -> None:
    endpoint = OpenAIEndpoint("m", key="sk-abcdef")
    assert endpoint.hide("bad sk-abcdef, also sk-a****def. *bold*") == "bad …, also … *bold*"
    assert OpenAIEndpoint("m").hide("no key") == "no key"
