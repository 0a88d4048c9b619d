"""Reading files whole and in ranges: what is answered is what is there, byte for byte."""

import base64
import itertools
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ahpd.interfaces import Wanted
from ahpd.resources.files import reading

TEXT = "plain, é and 𝄞\r\n\u0085\ufeff"


def raw(answer):
    if answer["encoding"] == "base64":
        return base64.b64decode(answer["data"], validate=True)
    return answer["data"].encode()


@pytest.mark.parametrize("asked", [None, "utf-8", "base64"])
@pytest.mark.parametrize(
    ("data", "is_text"),
    [
        (b"", True),
        (TEXT.encode(), True),
        (b"\xef\xbb\xbfmarked", True),
        (b"zero \0 byte", False),
        (b"caf\xe9", False),
        (b"cut \xf0\x9d\x84", False),
        (b"half a pair \xed\xa0\x80", False),
        (b"\x89PNG\r\n\x1a\n\0", False),
        (bytes(range(256)), False),
    ],
)
def test_the_bytes_say_how_they_are_encoded(files, tmp_path, asked, data, is_text):
    (tmp_path / "f").write_bytes(data)
    answer = files.read("f", encoding=asked)
    assert answer["encoding"] == ("utf-8" if is_text and asked != "base64" else "base64")
    assert raw(answer) == data


@settings(deadline=None)
@given(
    data=st.one_of(st.binary(max_size=300), st.text("aé€𝄞", max_size=60).map(str.encode)),
    cuts=st.lists(st.integers(0, 310), max_size=6),
    asked=st.sampled_from([None, "utf-8", "base64"]),
)
def test_ranges_put_together_are_the_file(data, cuts, asked):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f")
        path.write_bytes(data)
        edges = [0, *sorted(cuts), 310]
        whole = b"".join(
            raw(reading.read(path.as_uri(), Wanted(encoding=asked, offset=a, length=b - a), 310))
            for a, b in itertools.pairwise(edges)
        )
    assert whole == data


def test_a_range_that_cuts_a_character_is_base64_and_the_next_may_be_text(files, tmp_path):
    (tmp_path / "f").write_text("a€b")
    assert files.read("f", offset=0, length=2)["encoding"] == "base64"
    assert files.read("f", offset=0, length=4) == {"data": "a€", "encoding": "utf-8"}
    assert files.read("f", offset=4) == {"data": "b", "encoding": "utf-8"}


@pytest.mark.parametrize("offset", [3, 4, 2**40, 2**63, 2**70])
@pytest.mark.parametrize("length", [None, 0, 1, 2**63, 2**70])
def test_past_the_end_there_is_nothing(files, tmp_path, offset, length):
    (tmp_path / "f").write_text("abc")
    assert files.read("f", offset=offset, length=length)["data"] == ""


@pytest.mark.parametrize("wanted", [{"offset": -1}, {"length": -1}])
def test_a_range_counts_bytes(files, tmp_path, refused, wanted):
    (tmp_path / "f").write_text("abc")
    with refused(-32602, "-1"):
        files.read("f", **wanted)


def test_too_much_at_once_is_refused_and_says_what_to_do(files_under, tmp_path, refused):
    files = files_under(tmp_path, most_read=10)
    (tmp_path / "f").write_bytes(b"0123456789ab")
    for wanted in ({}, {"length": 11}, {"offset": 1}, {"offset": 1, "length": 2**70}):
        with refused(-32602, "at most 10", files.uri("f"), "ahpd.range"):
            files.read("f", **wanted)
    with refused(-32602, "12 bytes"):
        files.read("f")
    assert files.read("f", length=10)["data"] == "0123456789"
    assert files.read("f", offset=2)["data"] == "23456789ab"
    assert files.read("f", offset=3, length=2**70)["data"] == "3456789ab"


def test_what_the_kernel_makes_up_is_read_although_it_has_no_size(files_under, refused):
    files = files_under("/proc/self", most_read=200_000)
    assert Path("/proc/self/status").stat().st_size == 0
    assert "VmPeak" in files.read("status")["data"]
    assert files.read("status", length=5)["data"] == "Name:"
    small = files_under("/proc/self", most_read=10)
    with refused(-32602, "at most 10"):
        small.read("status")
    assert len(small.read("status", offset=4, length=10)["data"]) == 10


def test_what_grows_is_read_as_long_as_it_was_and_what_shrinks_as_far_as_it_goes(
    files, tmp_path, monkeypatch
):
    path = tmp_path / "f"
    pread = os.pread

    def then(change):
        def changed(file, count, start):
            if start == 0:
                change()
            return pread(file, count, start)

        monkeypatch.setattr(os, "pread", changed)

    path.write_text("abc")
    then(lambda: path.write_text("abc and more"))
    assert files.read("f")["data"] == "abc"
    then(lambda: os.truncate(path, 1))
    assert files.read("f")["data"] == "a"


def test_a_link_is_seen_through(files, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "f.txt").write_text("here")
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "link").symlink_to("folder/f.txt")
    assert files.read("link")["data"] == files.read("folder/f.txt")["data"] == "here"


@pytest.fixture
def special(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "socket"))
        (tmp_path / "to the pipe").symlink_to("pipe")
        (tmp_path / "device").symlink_to("/dev/zero")
        (tmp_path / "folder").mkdir()
        yield


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pipe", "a named pipe"),
        ("to the pipe", "a named pipe"),
        ("socket", "a socket"),
        ("device", "a device"),
        ("folder", "a directory"),
        ("", "a directory"),
    ],
)
def test_what_is_no_file_is_refused_at_once(files, special, refused, name, words):
    with refused(-32602, "Not a file", files.uri(name), words):
        files.read(name)


def test_what_becomes_a_pipe_as_it_is_opened_is_refused_too(files, tmp_path, monkeypatch, refused):
    path = tmp_path / "f"
    path.write_text("x")
    stat = os.stat

    def swapped(*arguments, **more):
        found = stat(*arguments, **more)
        path.unlink()
        os.mkfifo(path)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", swapped)
        with refused(-32602, "a named pipe"):
            files.read("f")


def test_what_is_not_there_and_what_may_not_be_read_are_told_apart(
    files_under, open_folder, refused, as_nobody
):
    files = files_under(open_folder)
    (open_folder / "secret").write_text("s")
    (open_folder / "secret").chmod(0o600)
    (open_folder / "closed").mkdir(mode=0o700)
    (open_folder / "circle").symlink_to("circle")
    (open_folder / "nowhere").symlink_to("gone")
    if os.geteuid() != 0:
        (open_folder / "secret").chmod(0)
        (open_folder / "closed").chmod(0)
    with as_nobody():
        for name in ("gone", "gone/x", "secret/x", "nowhere"):
            with refused(-32008, f"Resource not found: {files.uri(name)}"):
                files.read(name)
        for name in ("secret", "closed/x"):
            with refused(-32009, f"Permission denied: {files.uri(name)}") as caught:
                files.read(name)
            assert caught.value.data == {}
        with refused(-32008, "in a circle"):
            files.read("circle")
    (open_folder / "closed").chmod(0o700)


def test_the_name_promises_a_type(files, tmp_path):
    for name, kind in (
        ("a.png", "image/png"),
        ("a.json", "application/json"),
        ("README.md", "text/markdown"),
        ("a.tar.gz", None),
        ("Makefile", None),
    ):
        (tmp_path / name).write_text("x")
        assert files.read(name).get("contentType") == kind
        assert files.resolve(name).get("contentType") == kind


MEMORY = """
import sys
from pathlib import Path
from ahpd.interfaces import Wanted
from ahpd.resources.files.reading import read

path, step = Path(sys.argv[1]), 4 * 1024 * 1024

def peak():
    (line,) = (each for each in open("/proc/self/status") if each.startswith("VmHWM"))
    return int(line.split()[1])

read(path.as_uri(), Wanted(length=1), step)
before, at, size = peak(), 0, path.stat().st_size
while at < size:
    read(path.as_uri(), Wanted(offset=at, length=step, encoding=sys.argv[2]), step)
    at += step
print(peak() - before)
"""


@pytest.mark.parametrize("encoding", ["utf-8", "base64"])
def test_a_large_file_read_in_ranges_takes_little_memory(tmp_path, encoding):
    path = tmp_path / "large"
    with path.open("wb") as file:
        for _ in range(100):
            file.write(b"0123456789abcde\n" * 65536)
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, path, encoding], capture_output=True, check=True, text=True
    )
    assert int(done.stdout) < 32 * 1024  # kB


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 5000), st.integers(1, 5000))
def test_an_answer_is_whole_whatever_a_read_of_the_system_brings(size, chunk):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        path = Path(folder, "f")
        path.write_bytes(os.urandom(size))
        patched.setattr(reading, "CHUNK", chunk)
        assert raw(reading.read(path.as_uri(), Wanted(), 5000)) == path.read_bytes()
