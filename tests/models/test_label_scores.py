import math
import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.models.label_texts import Position, score_label_texts
from evolve.models.labels import Spelling, add_logs, likeliest, score_labels, shared_beginning

VOCABULARY = range(4)


def next_token_law(said: tuple[int, ...]) -> dict[int, float]:
    """A little language: every beginning has its own distribution over four tokens."""
    weights = [random.Random(repr((said, token))).random() + 0.01 for token in VOCABULARY]
    return {token: math.log(weight / sum(weights)) for token, weight in zip(VOCABULARY, weights, strict=True)}


async def ask(said: tuple[int, ...]) -> Mapping[int, float]:
    return next_token_law(said)


def sequence_logprob(tokens: tuple[int, ...]) -> float:
    return sum(next_token_law(tokens[:place])[token] for place, token in enumerate(tokens))


token_lists = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=4).map(tuple)


@settings(max_examples=60)
@given(st.sets(token_lists, min_size=2, max_size=6))
async def test_labels_split_the_probability_of_what_they_share(sequences: set[tuple[int, ...]]) -> None:
    scores = await score_labels([Spelling(str(s), s) for s in sequences], ask)
    first_tokens = {s[0] for s in sequences}
    assert sum(map(math.exp, scores.values())) <= sum(math.exp(next_token_law(())[t]) for t in first_tokens) + 1e-9
    for sequence in sequences:
        others = [s for s in sequences if s != sequence]
        if not any(other[: len(sequence)] == sequence for other in others):
            shared = max(sum(1 for _ in common(sequence, other)) for other in others)
            told_apart = sequence[: shared + 1]
            assert scores[str(sequence)] == pytest.approx(sequence_logprob(told_apart))


def common(a: tuple[int, ...], b: tuple[int, ...]) -> list[int]:
    shared = []
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        shared.append(x)
    return shared


async def test_a_label_that_another_continues_gets_what_is_left() -> None:
    scores = await score_labels([Spelling("1", (0,)), Spelling("10", (0, 1))], ask)
    assert math.exp(scores["1"]) + math.exp(scores["10"]) == pytest.approx(math.exp(next_token_law(())[0]))


async def test_one_question_is_enough_when_first_tokens_differ() -> None:
    asked = []

    async def count(said: tuple[int, ...]) -> Mapping[int, float]:
        asked.append(said)
        return next_token_law(said)

    spellings = [Spelling("a", (0, 3)), Spelling("a", (1,)), Spelling("b", (2, 3, 3))]
    scores = await score_labels(spellings, count)
    law = next_token_law(())
    assert asked == [()]
    assert scores["a"] == pytest.approx(add_logs([law[0], law[1]]))
    assert scores["b"] == pytest.approx(law[2])


async def test_what_was_not_reported_counts_as_the_smallest_reported() -> None:
    async def narrow(said: tuple[int, ...]) -> Mapping[int, float]:
        return {0: -0.1, 1: -3.0}

    scores = await score_labels([Spelling("a", (0,)), Spelling("b", (9,))], narrow)
    assert scores == {"a": pytest.approx(-0.1), "b": pytest.approx(-3.0)}


def test_a_tie_goes_to_the_first_asked() -> None:
    assert likeliest({"b": -1.0, "a": -1.0}) == "b"


def test_shared_beginning() -> None:
    assert shared_beginning(["New York", "Newark", "Boston"]) == 3
    assert shared_beginning(["yes", "no"]) == 0
    assert shared_beginning(["a"]) == 0


def test_texts_sum_the_spellings() -> None:
    position = Position("yes", {"yes": math.log(0.5), " yes": math.log(0.1), "no": math.log(0.2), "x": math.log(0.01)})
    scores = score_label_texts(["yes", "no"], [position])
    assert scores["yes"] == pytest.approx(math.log(0.6))
    assert scores["no"] == pytest.approx(math.log(0.2))


def test_texts_are_told_apart_along_the_chosen_words() -> None:
    first = Position("New", {"New": math.log(0.8), "Los": math.log(0.1), "zz": math.log(0.01)})
    second = Position(" York", {" York": math.log(0.7), " Orleans": math.log(0.2), "zz": math.log(0.01)})
    scores = score_label_texts(["New York", "New Orleans", "New", "Los Angeles", "Bonn"], [first, second])
    assert scores["New York"] == pytest.approx(math.log(0.8 * 0.7))
    assert scores["New Orleans"] == pytest.approx(math.log(0.8 * 0.2))
    assert scores["New"] == pytest.approx(math.log(0.8 * 0.1))
    assert scores["Los Angeles"] == pytest.approx(math.log(0.1))
    assert scores["Bonn"] == pytest.approx(math.log(0.01))


def test_texts_that_share_a_token_not_chosen_split_it() -> None:
    position = Position("The", {"The": math.log(0.5), "pos": math.log(0.2)})
    scores = score_label_texts(["positive", "possible"], [position, position])
    assert scores["positive"] == scores["possible"] == pytest.approx(math.log(0.1))
