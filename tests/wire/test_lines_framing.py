"""Newline framing: however a stream is cut up, the same lines come out."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd.wire.lines import HEAD, LineReader, LineTooLong


def test_lines_are_cut_at_newlines_and_a_carriage_return_is_no_part_of_one():
    reader = LineReader()
    assert reader.feed(b'{"a":1}\r\n{"b":2}\n\n\r\n{"c"') == [b'{"a":1}', b'{"b":2}']
    assert reader.held == 4
    assert reader.feed(b":3}\n") == [b'{"c":3}']
    assert reader.held == 0


def test_a_line_past_the_limit_is_reported_once_and_the_next_is_read():
    reader = LineReader(limit=5)
    assert reader.feed(b"12345\n") == [b"12345"]
    assert reader.feed(b"12345\r\n") == [b"12345"]
    assert reader.feed(b"123456\nok\n") == [LineTooLong(5), b"ok"]


def test_an_endless_line_holds_no_memory():
    reader = LineReader(limit=100)
    errors = []
    for _ in range(1000):
        errors += reader.feed(b"x" * 1000)
        assert reader.held <= 101
    assert errors == [LineTooLong(100)]
    assert reader.feed(b"still the same line\nnext\n") == [b"next"]


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="at least 1 byte, found 0"):
        LineReader(limit=0)


@given(
    st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"")), max_size=8),
    st.lists(st.integers(0, 100), max_size=12),
)
def test_lines_do_not_depend_on_where_the_stream_was_cut(lines, cuts):
    stream = b"".join(line + b"\n" for line in lines)
    whole = LineReader(limit=8).feed(stream)
    pieces = []
    reader = LineReader(limit=8)
    edges = sorted({min(cut, len(stream)) for cut in cuts} | {0, len(stream)})
    for start, end in itertools.pairwise(edges):
        pieces += reader.feed(stream[start:end])
    assert pieces == whole
    expected = []
    for line in (line.removesuffix(b"\r") for line in lines):
        if len(line) > 8:
            expected.append(LineTooLong(8))
        elif line:
            expected.append(line)
    assert whole == expected


def test_the_last_line_may_lack_its_newline():
    reader = LineReader(10)
    assert reader.feed(b"one\ntwo\r") == [b"one"]
    assert reader.finish() == [b"two"]
    assert reader.finish() == []


def test_a_last_line_that_was_too_long_is_told_once():
    reader = LineReader(3)
    assert len(reader.feed(b"toolong")) == 1
    assert reader.finish() == []


def test_a_line_past_the_limit_is_told_with_its_beginning():
    for stream in ([b"ab" * 5000 + b"\n"], [b"a", b"b" * 3, b"ab" * 5000, b"\n"]):
        reader = LineReader(limit=10)
        (line,) = [found for piece in stream for found in reader.feed(piece)]
        assert line.head == b"".join(stream).rstrip(b"\n")[: len(line.head)]
        assert len(line.head) == HEAD
    (short,) = LineReader(limit=3).feed(b"12345\n")
    assert short.head == b"12345"
