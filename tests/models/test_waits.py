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
        ({"x-ratelimit-reset-requests": "6m0s"}, 360.0),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "1h2m"}, 3720.0),
        ({"x-ratelimit-reset-tokens": "20ms"}, 0.02),
        ({"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "17"}, None),
        ({"x-ratelimit-reset-tokens": "soon"}, None),
        ({"x-ratelimit-reset-requests": "6m0s", "retry-after": "2"}, 2.0),
        ({"anthropic-ratelimit-tokens-reset": "2023-11-14T22:13:50Z"}, 30.0),
        ({"anthropic-ratelimit-tokens-reset": "2023-11-14T22:00:00Z"}, 0.0),
    ],
)
def test_what_a_provider_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert read_retry_after(headers, NOW) == seconds


NAMES = st.sampled_from(
    ["retry-after", "retry-after-ms", "x-ratelimit-reset-tokens", "anthropic-ratelimit-tokens-reset"]
)
VALUES = (
    st.binary(max_size=30).map(lambda data: data.decode("latin-1"))
    | st.builds("{}{}".format, st.integers() | st.floats(), st.sampled_from(["", "ms", "s", "m", "h"]))
    | st.datetimes().map(str)
)


@given(st.dictionaries(NAMES, VALUES))
def test_whatever_is_said_is_a_wait_or_nothing(headers: dict[str, str]) -> None:
    seconds = read_retry_after(headers, NOW)
    assert seconds is None or 0 <= seconds < float("inf")


def test_a_date_without_a_zone_is_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()
    assert read_retry_after({"retry-after": "Tue, 14 Nov 2023 22:13:50 -0000"}, NOW) == 30.0
    monkeypatch.undo()
    time.tzset()
