"""`file:` URIs and the paths they name."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd.protocol.file_uris import file_uri, path_of, shown


@given(st.binary(min_size=1).filter(lambda raw: b"\0" not in raw))
def test_every_path_comes_back_from_its_uri(raw):
    path = "/" + os.fsdecode(raw)
    uri = file_uri(path)
    assert path_of(uri) == path
    assert uri.isascii()
    assert shown(path).encode()


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a%20b", "/a b"),
        ("file://localhost/a", "/a"),
        ("FILE:///a?b#c", "/a"),
        ("file:/a", "/a"),
        ("file:///c%3A/x", "/c:/x"),
        ("file://other/a", None),
        ("file:a", None),
        ("file:///a%00b", None),
        ("file://[bad/a", None),
        ("https:///a", None),
        ("/a", None),
        ("", None),
        ("file:///a\nb", "/a\nb"),
        ("file:///a\tb\r", "/a\tb\r"),
        ("file:///a.py#L3", "/a.py"),
        ("file:///a?b#c", "/a"),
        ("file://LOCALHOST/a", "/a"),
    ],
)
def test_only_a_path_of_this_machine_is_one(uri, path):
    assert path_of(uri) == path


@given(st.text())
def test_no_text_makes_it_raise(text):
    path_of(text)
    path_of("file:///" + text)
    path_of("file://" + text)
