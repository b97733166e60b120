import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.models.waits import read_retry_after

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "86400"}, 86_400.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, 30.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
    ],
)
def test_what_a_provider_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert read_retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"reset-requests": "6m0s"}, 360.0),
        ({"reset-requests": "1s"}, 1.0),
        ({"reset-tokens": "20ms"}, 0.02),
        ({"reset-tokens": "1h2m3.5s"}, 3723.5),
        ({"reset-tokens": "1d500µs"}, 86_400.0005),
        ({"reset-tokens": "7"}, 7.0),
        ({"reset-requests": "1s", "reset-tokens": "6s"}, 6.0),
        ({"reset-requests": "23h", "reset-tokens": "6s", "remaining-requests": "99", "remaining-tokens": "0"}, 6.0),
        ({"reset-requests": "23h", "remaining-requests": "99"}, None),
        ({"reset-requests": "-1s"}, None),
        ({"reset-requests": "1s1"}, None),
        ({"reset-requests": "soon", "reset-tokens": ""}, None),
        ({"reset-requests": "9" * 400 + "s"}, None),
    ],
)
def test_limits_that_are_used_up_are_waited_for(headers: dict[str, str], seconds: float | None) -> None:
    limits = {f"x-ratelimit-{name}": value for name, value in headers.items()}
    assert read_retry_after(limits, NOW) == (pytest.approx(seconds) if seconds is not None else None)
    assert read_retry_after({**limits, "retry-after": "2"}, NOW) == 2.0, "what is asked for goes before what is known"


def test_a_date_without_a_zone_is_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()
    assert read_retry_after({"retry-after": "Tue, 14 Nov 2023 22:13:50 -0000"}, NOW) == 30.0
    monkeypatch.undo()
    time.tzset()


NAMES = ["retry-after", "retry-after-ms"] + [
    f"x-ratelimit-{what}-{limit}" for what in ("reset", "remaining") for limit in ("requests", "tokens")
]
NUMBERS = st.one_of(st.integers(), st.floats(), st.integers(0, 10**400)).map(str)
UNITS = st.sampled_from(["ms", "us", "µs", "ns", "d", "h", "m", "s", ""])
ZONES = st.sampled_from(["GMT", "-0000", "+1400", "-999999", "", "BST"])
WORDS = st.one_of(
    st.binary(max_size=30).map(lambda data: data.decode("latin-1")),
    NUMBERS,
    st.lists(st.builds("{}{}".format, NUMBERS, UNITS), max_size=4).map("".join),
    st.builds(
        "{}{} {} {} {}:{}:{} {}".format,
        st.sampled_from(["", "Tue, "]),
        st.integers(-1, 40),
        st.sampled_from(["Jan", "Feb", "Dec", "Foo"]),
        st.integers(-1, 99_999),
        *[st.integers(-1, 100)] * 3,
        ZONES,
    ),
)


@given(st.dictionaries(st.sampled_from(NAMES), WORDS), st.floats(0, 1e11))
def test_whatever_a_provider_writes_no_wait_is_negative_or_endless(headers: dict[str, str], now: float) -> None:
    seconds = read_retry_after(headers, now)
    assert seconds is None or 0 <= seconds < float("inf")
