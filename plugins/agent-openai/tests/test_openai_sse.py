"""Server-sent events, wherever the stream is cut."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd_agent_openai.sse import Event, EventReader, EventTooLong


def read(*pieces, limit=1000):
    reader = EventReader(limit)
    events = [event for piece in pieces for event in reader.feed(piece)]
    return events + reader.finish()


STREAM = (
    b"\xef\xbb\xbf: hello\n\n"
    b"event: ping\r\ndata: {}\r\n\r\n"
    b"data:one\rdata: two\r\r"
    b": OPENROUTER PROCESSING\n\n"
    b"id: 7\nretry: 10\nunknown\ndata\ndata: \xc3\xa4 \n\n"
    b"error: bad\n\n"
    b"event: lonely\n\n"
    b"data: last"
)
EVENTS = [
    Event("ping", b"{}"),
    Event("", b"one\ntwo"),
    Event("", b"\n\xc3\xa4 "),
    Event("error", b"bad"),
    Event("", b"last"),
]


def test_lines_end_in_any_of_three_ways_and_comments_are_passed_over():
    assert read(STREAM) == EVENTS


def test_any_cut_in_two_reads_the_same():
    for at in range(len(STREAM) + 1):
        assert read(STREAM[:at], STREAM[at:]) == EVENTS, at


def test_single_bytes_read_the_same():
    assert read(*(STREAM[at : at + 1] for at in range(len(STREAM)))) == EVENTS


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=6))
def test_any_bytes_read_the_same_however_they_are_cut(data, cuts):
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[a:b] for a, b in itertools.pairwise(edges)]
    assert read(*pieces) == read(data)


@pytest.mark.parametrize("line", [b"data: " + b"x" * 2000, b": " + b"x" * 2000])
def test_a_line_without_an_end_is_bounded(line):
    reader = EventReader(1000)
    pieces = [line[at : at + 100] for at in range(0, len(line), 100)]
    with pytest.raises(EventTooLong, match="1000 bytes"):
        [reader.feed(piece) for piece in pieces]


def test_many_data_lines_of_one_event_are_bounded():
    reader = EventReader(1000)
    with pytest.raises(EventTooLong):
        reader.feed(b"data: 0123456789\n" * 200)
