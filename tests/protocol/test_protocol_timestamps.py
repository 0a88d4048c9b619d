"""Moments as they travel: written, read, and reckoned from one another."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd.protocol.timestamps import instant, later, stamp


@pytest.mark.parametrize(
    ("timestamp", "milliseconds", "expected"),
    [
        ("2026-12-31T23:59:59.999Z", 1, "2027-01-01T00:00:00.000Z"),
        ("2024-02-28T23:59:59Z", 1000, "2024-02-29T00:00:00.000Z"),
        ("2026-03-01T00:30:00+05:30", 0, "2026-02-28T19:00:00.000Z"),
        ("2026-03-01T00:30:00-08:00", 0, "2026-03-01T08:30:00.000Z"),
        ("2026-03-01T00:30:00", 0, "2026-03-01T00:30:00.000Z"),
        ("2026-03-01", 5, "2026-03-01T00:00:00.005Z"),
        ("2026-03-01T00:00:00.123456789Z", 0, "2026-03-01T00:00:00.123Z"),
        ("2026-03-01T00:00:00.9996Z", 0.9, "2026-03-01T00:00:00.999Z"),
        ("0001-01-01T00:00:00Z", 1, "0001-01-01T00:00:00.001Z"),
        ("1969-12-31T23:59:59.999Z", 1, "1970-01-01T00:00:00.000Z"),
        # A sum in floating-point seconds would lose this millisecond.
        ("2026-03-01T00:00:00.001Z", 9_007_199_254_739, "2311-08-04T23:47:34.740Z"),
    ],
)
def test_the_moment_after(timestamp, milliseconds, expected):
    assert later(timestamp, milliseconds) == expected


@pytest.mark.parametrize(
    ("timestamp", "milliseconds"),
    [
        ("", 0),
        ("soon", 0),
        ("2026-02-30T00:00:00Z", 0),
        ("9999-12-31T23:59:59.999Z", 1),
        ("0001-01-01T00:00:00+01:00", 0),
        ("2026-01-01T00:00:00Z", 10**30),
        ("2026-01-01T00:00:00Z", 1e300),
        ("2026-01-01T00:00:00Z", float("inf")),
        ("2026-01-01T00:00:00Z", float("nan")),
    ],
)
def test_no_moment_after(timestamp, milliseconds):
    assert later(timestamp, milliseconds) is None


@given(
    st.datetimes(max_value=datetime(5000, 1, 1)),  # noqa: DTZ001  # Hypothesis wants it naive
    st.integers(0, 10**12),
    st.integers(0, 10**12),
)
def test_two_steps_are_one(moment, first, second):
    start = moment.isoformat() + "Z"
    there = later(start, first)
    assert there is not None
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", there)
    assert later(there, second) == later(start, first + second)
    whole = moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=UTC)
    assert datetime.fromisoformat(there) == whole + timedelta(milliseconds=first)


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        ("1970-01-01T00:00:01.500Z", 1.5),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("1970-01-01T00:00:02", 2.0),
        ("soon", None),
        ("", None),
        ("2026-02-30T00:00:00Z", None),
    ],
)
def test_the_seconds_a_timestamp_names(timestamp, expected):
    assert instant(timestamp) == expected


def test_a_moment_is_written_in_utc_to_the_millisecond():
    east = timezone(timedelta(hours=5, minutes=30))
    assert stamp(datetime(2026, 3, 1, 0, 30, 0, 999_999, east)) == "2026-02-28T19:00:00.999Z"


@given(st.datetimes(timezones=st.just(UTC)))
def test_what_is_written_reads_back(moment):
    assert later(stamp(moment), 0) == stamp(moment)
