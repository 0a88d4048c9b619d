"""The channel of a watch names all of it, both ways."""

import base64
import json

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd.interfaces import WatchRequest
from ahpd.protocol.errors import RpcError
from ahpd.watches.names import LONGEST, channel_of, request_of

globs = st.lists(st.text(st.characters(codec="utf-8"), max_size=20), max_size=3)


def channel(described, *, prefix="ahp-resource-watch://r/"):
    text = described if isinstance(described, bytes) else json.dumps(described).encode()
    return prefix + base64.urlsafe_b64encode(text).decode().rstrip("=")


@given(st.text(st.characters(codec="utf-8")), st.booleans(), st.none() | globs, globs)
def test_a_request_comes_back_as_it_was(path, recursive, includes, excludes):
    request = WatchRequest(
        root=f"file:///{path}",
        recursive=recursive,
        includes=includes and tuple(includes),
        excludes=tuple(excludes),
    )
    name = channel_of(request)
    found = request_of(name)
    # No pattern to include is none given: everything is told of.
    assert found == attrs.evolve(request, includes=request.includes or None)
    assert channel_of(found) == name


@pytest.mark.parametrize(
    ("request_", "described"),
    [
        (WatchRequest(root="file:///w"), '{"root":"file:///w"}'),
        (
            WatchRequest(root="file:///é", recursive=True, includes=("*.ts",), excludes=("b", "a")),
            '{"root":"file:///é","recursive":true,"excludes":["b","a"],"includes":["*.ts"]}',
        ),
    ],
)
def test_the_name_is_the_one_vs_code_gives(request_, described):
    assert channel_of(request_) == channel(described.encode())


def test_what_vs_code_named_is_read_with_and_without_an_authority_or_padding():
    described = {"root": "file:///w", "recursive": True, "excludes": ["a"], "later": 1}
    found = WatchRequest(root="file:///w", recursive=True, excludes=("a",))
    for name in (
        channel(described),
        channel(described, prefix="ahp-resource-watch:/"),
        channel(described) + "==",
    ):
        assert request_of(name) == found


@pytest.mark.parametrize(
    "name",
    [
        "",
        "ahp-resource-watch://r/",
        "ahp-resource-watch://r/%%%",
        "ahp-resource-watch://r/a",
        "ahp-resource-watch://r/" + "_" * 8,
        "ahp-session://r/" + channel({"root": "file:///w"}).rpartition("/")[2],
        channel({"root": "file:///w"}) + "/more",
        channel({"root": "file:///w"}) + "?query",
        channel(b"not json"),
        channel(b"[" * 20_000),
        channel(b'{"root":' + b"1" * 6000 + b"}"),
        channel([]),
        channel(1),
        channel({}),
        channel({"root": 1}),
        channel({"root": ""}),
        channel({"root": "no scheme"}),
        channel({"root": "file:///\ud800"}),
        channel({"root": "file:///w", "recursive": "yes"}),
        channel({"root": "file:///w", "excludes": "a"}),
        channel({"root": "file:///w", "excludes": {"items": ["a"]}}),
        channel({"root": "file:///w", "includes": [1]}),
        channel({"root": "file:///w", "includes": ["\udc00"]}),
        channel({"root": "file:///" + "a" * LONGEST}),
        "ahp-resource-watch://r/\ud800",
    ],
)
def test_a_name_nobody_can_read_names_nothing(name):
    assert request_of(name) is None


@given(st.text())
def test_no_name_raises(name):
    request_of(name)
    request_of("ahp-resource-watch://r/" + name)


@given(st.binary(max_size=60))
def test_no_name_of_any_bytes_raises(raw):
    request_of(channel(raw))


def test_a_request_too_long_for_a_name_is_refused():
    with pytest.raises(RpcError) as caught:
        channel_of(WatchRequest(root="file:///" + "a" * LONGEST))
    assert caught.value.code == -32602
    assert str(LONGEST) in caught.value.message


def test_half_a_surrogate_pair_makes_a_name_that_names_nothing():
    assert request_of(channel_of(WatchRequest(root="file:///\ud800"))) is None
