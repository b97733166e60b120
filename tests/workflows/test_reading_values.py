import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflows.reading.dates import find_dates
from workflows.reading.numbers import find_amounts, find_numbers
from workflows.reading.spans import MAX_CANDIDATES, SpanOptions, find_candidates

OPTIONS = SpanOptions()
KINDS = ("date", "amount", "number", "currency", "email", "identifier", "name", "quoted", "span")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("on 14 March 2026.", ["2026-03-14"]),
        ("on 14/03/2026 or 2026/03/15", ["2026-03-14", "2026-03-15"]),
        ("March 14th, 2026; 14th of March 2026", ["2026-03-14", "2026-03-14"]),
        ("2026-03-14T09:00", ["2026-03-14"]),
        ("14.03.26, 14-Mar-2026", ["2026-03-14", "2026-03-14"]),
        ("Mar. 3, 1999 and 01/02/98", ["1999-03-03", "1998-02-01"]),
        ("March 14th", ["March 14th"]),
        ("before 5 May at noon", ["5 May"]),
        ("03/14/2026", ["2026-03-14"]),
        ("29 February 2028", ["2028-02-29"]),
        ("31/02/2026, 29 February 2026, May 300, 12345-01-01, tomorrow", []),
    ],
)
def test_dates_are_found_in_their_written_forms(text, values):
    assert [span.value for span in find_dates(text)] == values
    assert all(text[span.start : span.end] == span.text for span in find_dates(text))


def test_the_order_of_day_and_month_is_an_option():
    assert [d.value for d in find_dates("03/04/2026", day_first=True)] == ["2026-04-03"]
    assert [d.value for d in find_dates("03/04/2026", day_first=False)] == ["2026-03-04"]


@settings(deadline=None, max_examples=60)
@given(st.dates())
def test_every_date_is_read_back_from_three_forms(day):
    forms = (day.isoformat(), f"{day.day} {day.strftime('%B')} {day.year:04d}", f"{day.day}/{day.month}/{day.year:04d}")
    for form in forms:
        assert [span.value for span in find_dates(f"It was {form}, they say")] == [day.isoformat()]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("$1,234.50", [1234.5]),
        ("1.234,50 EUR and € 12", [1234.5, 12.0]),
        ("EUR 0,5 or 3 euros", [0.5, 3.0]),
        ("£1 200.75", [1200.75]),
        ("CHF 1'200 less -$5.25", [1200.0, -5.25]),
        ("1.234 USD", [1234.0]),
        ("USD 2.005", [2005.0]),
        ("12 apples on 3 May", []),
    ],
)
def test_amounts_are_numbers_with_a_currency(text, values):
    assert [span.value for span in find_amounts(text)] == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("3 of 12.5 and 1,200", [3, 12.5, 1200]),
        ("INV-2041 has 4 lines, the 3rd is 20%", [4, 20]),
        ("from -5 to 7, 10-15", [-5, 7, 10, 15]),
        ("pi is 3.142.", [3.142]),
        ("9" * 5000, []),
    ],
)
def test_numbers_stand_by_themselves(text, values):
    assert [span.value for span in find_numbers(text)] == values


def test_the_decimal_sign_is_an_option():
    assert [n.value for n in find_numbers("1.234", decimal=",")] == [1234]
    assert [n.value for n in find_numbers("1,234", decimal=",")] == [1.234]


def test_candidates_are_distinct_by_value_and_amounts_fall_back_to_bare_numbers():
    two_forms = find_candidates("14 March 2026, that is 14/03/2026", "date", OPTIONS)
    assert [(c.text, c.value) for c in two_forms] == [("14 March 2026", "2026-03-14")]
    assert [c.value for c in find_candidates("3 items, total 42.50, due 1/2/2026", "amount", OPTIONS)] == [42.5]
    assert [c.value for c in find_candidates("3 items, 40 in all", "amount", OPTIONS)] == [3.0, 40.0]


def test_words_that_look_like_names_ids_and_addresses_are_found():
    text = 'Anna Schmidt of Acme Corp. wrote to a.b@x.org about INV-2041 and #77: "blue shoes"'
    assert [c.text for c in find_candidates(text, "email", OPTIONS)] == ["a.b@x.org"]
    assert [c.text for c in find_candidates(text, "identifier", OPTIONS)] == ["INV-2041", "#77"]
    assert [c.text for c in find_candidates(text, "quoted", OPTIONS)] == ["blue shoes"]
    assert "Anna Schmidt of Acme Corp" in [c.text for c in find_candidates(text, "name", OPTIONS)]
    assert {"blue shoes", "a.b@x.org", "wrote"} <= {c.text for c in find_candidates(text, "span", OPTIONS)}


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=300), st.sampled_from(KINDS))
def test_candidates_are_pieces_of_the_text(text, kind):
    assert all(candidate.text in text for candidate in find_candidates(text, kind, OPTIONS))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("piece", ["a.", "1,", "A ", "/", "-a", "1-", "$", "x_", '"', "May ", "1 000", "#1", "é"])
def test_a_hostile_text_takes_time_in_proportion_to_its_length(kind, piece):
    started = time.perf_counter()
    assert len(find_candidates(piece * (40_000 // len(piece)), kind, OPTIONS)) <= MAX_CANDIDATES
    assert time.perf_counter() - started < 2.0
