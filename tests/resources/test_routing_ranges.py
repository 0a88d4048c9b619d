"""A read may ask for a part, beside what the protocol declares."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd.interfaces import RpcError, Wanted
from ahpd.protocol.check import check
from ahpd.protocol.methods import COMMANDS
from ahpd.resources.ranges import wanted


def params(asked):
    return {"channel": "ahp-root://", "uri": "file:///x", "_meta": {"ahpd.range": asked}}


def test_nothing_asked_is_all_there_is():
    assert wanted({"uri": "file:///x"}) == Wanted()
    assert wanted({"uri": "file:///x", "_meta": None, "encoding": None}) == Wanted()
    assert wanted({"uri": "file:///x", "_meta": {"other": 1}}) == Wanted()
    assert wanted(params(None)) == Wanted()
    assert wanted({**params({}), "encoding": "utf-8"}) == Wanted(encoding="utf-8")


@pytest.mark.parametrize(
    ("asked", "offset", "length"),
    [
        ({"offset": 5}, 5, None),
        ({"length": 7}, 0, 7),
        ({"offset": 0, "length": 0}, 0, 0),
        ({"offset": 2.0, "length": 1e3}, 2, 1000),
        ({"offset": 2**53, "length": None, "more": "ignored"}, 2**53, None),
    ],
)
def test_a_part_is_so_many_bytes_from_one_on(asked, offset, length):
    found = wanted(params(asked))
    assert found == Wanted(offset=offset, length=length)
    assert type(found.offset) is int


@pytest.mark.parametrize("value", [-1, 1.5, "1", True, [], {}, float("inf"), float("nan")])
@pytest.mark.parametrize("key", ["offset", "length"])
def test_a_number_that_is_none_is_refused_at_its_path(key, value):
    with pytest.raises(RpcError) as refusal:
        wanted(params({key: value}))
    assert refusal.value.code == -32602
    words = f'params._meta["ahpd.range"].{key}: expected a whole number of bytes, 0 or more'
    assert refusal.value.message == words


@pytest.mark.parametrize("asked", [5, "0-5", [0, 5], True])
def test_a_range_that_is_none_is_refused(asked):
    with pytest.raises(RpcError, match=r'params._meta\["ahpd.range"\]: expected an object'):
        wanted(params(asked))


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(json)
def test_whatever_is_asked_is_a_part_or_is_refused(asked):
    whole = params(asked)
    check(whole, COMMANDS["resourceRead"].params)
    try:
        found = wanted(whole)
    except RpcError:
        return
    assert found.offset >= 0
    assert found.length is None or found.length >= 0
