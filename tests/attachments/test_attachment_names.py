"""Names of files made of what clients said never lead out of their folder."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd.attachments.names import file_name, folder_name

wild = st.one_of(
    st.text(),
    st.text(st.sampled_from("./\\~%-_aé\0\n😀\ud800 "), max_size=400),
)


@given(wild, st.sampled_from(["", "image/png", "image/jpeg", "text/plain"]))
def test_a_label_makes_one_segment_that_a_file_system_takes(label, kind):
    name = file_name(label, kind)
    assert name not in ("", ".", "..")
    assert "/" not in name
    assert "\0" not in name
    assert 0 < len(name.encode()) <= 255
    assert os.path.normpath(f"/root/{name}") == "/root/" + name


@given(wild)
def test_an_id_makes_one_segment_of_plain_characters(identifier):
    name = folder_name(identifier)
    assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-%")
    assert 0 < len(name) <= 255


@given(wild, wild)
def test_two_ids_never_share_a_folder(one, other):
    assert (folder_name(one) == folder_name(other)) == (one == other)


@pytest.mark.parametrize(
    ("label", "kind", "name"),
    [
        ("notes.txt", "text/plain", "notes.txt"),
        ("../../etc/passwd", "", ".._.._etc_passwd"),
        ("..", "", "__"),
        ("", "", "attachment"),
        ("a:b\nc", "", "a_b_c"),
        ("Pasted image", "image/png", "Pasted image.png"),
        ("photo.JPEG", "image/jpeg", "photo.JPEG"),
        ("x" * 300 + ".png", "image/png", "x" * 251 + ".png"),
    ],
)
def test_labels_keep_what_they_can(label, kind, name):
    assert file_name(label, kind) == name


def test_a_plain_id_is_its_own_folder():
    assert folder_name("0b3f6c1e-9a5d-4f0e-8a7e-2f6d1c9b4a31") == (
        "0b3f6c1e-9a5d-4f0e-8a7e-2f6d1c9b4a31"
    )
    assert folder_name("..") == "%2E%2E"
