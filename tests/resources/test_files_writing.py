"""Writing files: what becomes of the bytes, of the file around them, and of a refusal."""

# The system's own calls are what is spoken of here.
# ruff: noqa: PTH208

import base64
import errno
import os
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ahpd.interfaces import RpcError
from ahpd.resources.files import contents, drafts, in_place
from ahpd.resources.files.contents import NotKept
from ahpd.resources.files.writing import Writer


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


# -- bytes -------------------------------------------------------------------------


def expected(old, data, mode, position):
    """The schema's words (ResourceWriteMode), in Python."""
    if mode == "truncate":
        return old[:position] + data
    at = len(old) - position if mode == "append" else position
    return old[:at] + data + old[at:]


@settings(deadline=None)
@given(
    old=st.none() | st.binary(max_size=40),
    writes=st.lists(
        st.tuples(
            st.sampled_from(["truncate", "append", "insert"]),
            st.integers(0, 60),
            st.binary(max_size=20),
        ),
        min_size=1,
        max_size=5,
    ),
    names=st.sampled_from([1, 2]),
    chunk=st.sampled_from([1, 3, 1 << 20]),
)
def test_every_mode_makes_of_the_bytes_what_the_schema_says(old, writes, names, chunk):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        for module in (contents, in_place):
            patched.setattr(module, "CHUNK", chunk)
        path, other = Path(folder, "f"), Path(folder, "g")
        writer = Writer(iter(map(str, range(100))).__next__)
        if old is not None:
            path.write_bytes(old)
            if names == 2:
                os.link(path, other)
        for mode, position, data in writes:
            params = {
                "uri": path.as_uri(),
                "data": base64.b64encode(data).decode(),
                "encoding": "base64",
                "mode": mode,
                "position": position,
            }
            size = len(old or b"")
            if position > size:
                with pytest.raises(RpcError, match="position") as caught:
                    writer.write(params)
                assert caught.value.code == -32602
            else:
                writer.write(params)
                old = expected(old or b"", data, mode, position)
            assert (path.read_bytes() if path.exists() else None) == old
            if other.exists():
                assert other.read_bytes() == old
        assert set(os.listdir(folder)) <= {"f", "g"}


def test_nothing_said_is_a_whole_new_content(files, tmp_path):
    files.write("f", "first and long")
    files.write("f", "é\r\n")
    assert (tmp_path / "f").read_bytes() == "é\r\n".encode()
    files.write("f", base64.b64encode(bytes(range(256))).decode(), "base64")
    assert (tmp_path / "f").read_bytes() == bytes(range(256))
    files.write("f", "")
    assert (tmp_path / "f").read_bytes() == b""
    assert files.names() == ["f"]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"encoding": "base64", "data": "a"}, "params.data is no base64"),
        ({"encoding": "base64", "data": "a b="}, "params.data is no base64"),
        ({"encoding": "base64", "data": "YQ=="[:3]}, "params.data is no base64"),
        ({"encoding": "base64", "data": "é"}, "params.data"),
        ({"data": "\ud800"}, "params.data"),
        ({"encoding": "latin-1"}, "params.encoding is 'latin-1'"),
        ({"mode": "prepend"}, "params.mode is 'prepend'"),
        ({"position": -1}, "params.position is -1"),
        ({"position": 0.5}, "params.position is 0.5"),
        ({"position": True}, "params.position is True"),
        ({"position": "1"}, "params.position is '1'"),
        ({"position": 4}, "params.position is 4, and "),
        ({"position": 4, "mode": "append"}, "append takes 0 to 3"),
        ({"position": 4, "mode": "insert"}, "insert takes 0 to 3"),
        ({"position": 1e300}, "has 3 bytes"),
        ({"position": float("inf")}, "params.position"),
        ({"position": float("nan")}, "params.position"),
    ],
)
def test_what_cannot_be_written_so_names_the_parameter(files, tmp_path, refused, params, words):
    (tmp_path / "f").write_text("abc")
    with refused(-32602, words):
        files.write(**({"path": "f", "data": "x"} | params))
    assert (tmp_path / "f").read_text() == "abc"
    assert files.names() == ["f"]


def test_a_position_may_be_written_as_a_float(files, tmp_path):
    (tmp_path / "f").write_text("abc")
    files.write("f", "X", mode="insert", position=1.0)
    assert (tmp_path / "f").read_text() == "aXbc"


# -- conditions --------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["truncate", "append", "insert"])
def test_create_only_takes_the_place_of_nothing(files, tmp_path, refused, mode):
    files.write("f", "first", createOnly=True, mode=mode)
    (tmp_path / "d").mkdir()
    (tmp_path / "nowhere").symlink_to("gone")
    os.mkfifo(tmp_path / "pipe")
    for name in ("f", "d", "nowhere", "pipe"):
        with refused(-32010, f"Resource already exists: {files.uri(name)}"):
            files.write(name, "second", createOnly=True, mode=mode)
    assert (tmp_path / "f").read_text() == "first"
    assert files.names() == ["d", "f", "nowhere", "pipe"]


@pytest.mark.parametrize("without", ["neither", "renameat2", "links"])
def test_create_only_holds_against_who_is_faster(files, tmp_path, refused, monkeypatch, without):
    if without != "neither":
        monkeypatch.setattr(drafts.kernel, "_renameat2", None)
    if without == "links":

        def no_links(*arguments, **more):
            raise OSError(errno.EPERM, "no links here")

        monkeypatch.setattr(os, "link", no_links)
    sync = os.fsync

    def meanwhile(file):
        (tmp_path / "f").write_text("faster")
        sync(file)

    monkeypatch.setattr(os, "fsync", meanwhile)
    with refused(-32010, files.uri("f")):
        files.write("f", "slower", createOnly=True)
    assert (tmp_path / "f").read_text() == "faster"
    monkeypatch.setattr(os, "fsync", sync)
    files.write("g", "new", createOnly=True)
    assert (tmp_path / "g").read_text() == "new"
    assert files.names() == ["f", "g"]


def test_an_append_to_what_somebody_just_made_comes_after_it(files, tmp_path, monkeypatch):
    link = drafts.rename_to_new

    def meanwhile(*arguments):
        monkeypatch.setattr(drafts, "rename_to_new", link)
        (tmp_path / "f").write_text("theirs,")
        return link(*arguments)

    monkeypatch.setattr(drafts, "rename_to_new", meanwhile)
    files.write("f", "ours", mode="append")
    assert (tmp_path / "f").read_text() == "theirs,ours"


@pytest.mark.parametrize("mode", ["truncate", "append", "insert"])
def test_if_match_holds_a_write_to_the_version_that_was_read(files, tmp_path, refused, mode):
    files.write("f", "one")
    etag = files.resolve("f")["etag"]
    files.write("f", "two", ifMatch=etag)
    with refused(-32011, files.uri("f"), "params.ifMatch"):
        files.write("f", "three", ifMatch=etag, mode=mode)
    with refused(-32011, "not there any more"):
        files.write("gone", "x", ifMatch=etag, mode=mode)
    assert (tmp_path / "f").read_text() == "two"
    assert files.names() == ["f"]


@pytest.mark.parametrize("more", [{}, {"mode": "insert"}, {"mode": "append"}])
def test_if_match_holds_while_the_write_is_made_ready(files, tmp_path, refused, monkeypatch, more):
    files.write("f", "one")
    etag = files.resolve("f")["etag"]
    opened = os.open

    def meanwhile(name, flags, *arguments, **how):
        if name == "f":
            (tmp_path / "f").write_text("somebody else's")
        return opened(name, flags, *arguments, **how)

    monkeypatch.setattr(os, "open", meanwhile)
    with refused(-32011, files.uri("f")):
        files.write("f", "two", ifMatch=etag, **more)
    monkeypatch.undo()
    assert (tmp_path / "f").read_text() == "somebody else's"
    assert files.names() == ["f"]


def test_a_splice_into_what_changes_meanwhile_begins_again(files, tmp_path, monkeypatch, refused):
    path = tmp_path / "f"
    path.write_text("abc")
    sync, left = os.fsync, [2]

    def meanwhile(file):
        sync(file)
        if left[0]:
            left[0] -= 1
            path.write_text(path.read_text() + "!")

    monkeypatch.setattr(os, "fsync", meanwhile)
    files.write("f", "X", mode="insert", position=1)
    assert path.read_text() == "aXbc!!"
    left[0] = 1000
    with refused(-32011, "over and over"):
        files.write("f", "X", mode="insert", position=1)
    assert files.names() == ["f"]


# -- what is at the place ------------------------------------------------------------


def test_a_link_is_not_written_through(files, tmp_path, refused):
    (tmp_path / "real").write_text("kept")
    for name, leads_to in (("link", "real"), ("nowhere", "gone"), ("circle", "circle")):
        (tmp_path / name).symlink_to(leads_to)
        for mode in ("truncate", "append", "insert"):
            with refused(-32009, files.uri(name), "symbolic link"):
                files.write(name, "x", mode=mode)
    assert (tmp_path / "real").read_text() == "kept"
    assert not (tmp_path / "gone").exists()


def test_the_folder_is_found_through_links(files, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    files.write("link/f", "new")
    files.write("link/f", "newer")
    files.write("link/f", "!", mode="append")
    assert (tmp_path / "real" / "f").read_text() == "newer!"
    assert files.names() == ["link", "real", "real/f"]


def test_what_is_no_file_is_refused(files, tmp_path, refused):
    (tmp_path / "d").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, words in (("d", "a directory"), ("pipe", "a named pipe")):
        for mode in ("truncate", "append"):
            with refused(-32602, "Not a file", files.uri(name), words):
                files.write(name, "x", mode=mode)
    with refused(-32602, "names a directory"):
        files.write("d/", "x")
    with refused(-32602, "names a directory"):
        files.write("new/", "x")
    with refused(-32602, "names a directory"):
        files.write_uri("file:///", "x")
    with refused(-32009, "root"):
        files.write_uri("file:///.", "x")
    assert files.names() == ["d", "pipe"]


def test_a_folder_that_is_not_there_is_not_made(files, tmp_path, refused):
    (tmp_path / "f").write_text("")
    for name in ("gone/f", "f/x"):
        with refused(-32008, f"Resource not found: {files.uri(name)}"):
            files.write(name, "x")
    assert files.names() == ["f"]


# -- what is kept of a file ----------------------------------------------------------


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o444, 0o4750, 0o2711])
def test_a_file_keeps_its_mode(files, tmp_path, mode, monkeypatch):
    path = tmp_path / "f"
    path.write_text("old")
    path.chmod(mode)
    if os.geteuid() == 0 or mode & 0o200:
        files.write("f", "new")
        assert path.read_text() == "new"
    assert mode_of(path) == mode


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_is_made_as_any_new_file_is(files, tmp_path, mask, mode):
    was = os.umask(mask)
    try:
        files.write("f", "new")
    finally:
        os.umask(was)
    assert mode_of(tmp_path / "f") == mode


def test_a_draft_is_its_owners_alone_while_it_is_written(files, tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_text("secret")
    path.chmod(0o640)
    seen, give = [], contents.give_all

    def look(source, target):
        seen.append(stat.S_IMODE(os.fstat(target).st_mode))
        give(source, target)

    monkeypatch.setattr("ahpd.resources.files.writing.give_all", look)
    files.write("f", "new")
    assert seen == [0o600]


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")
def test_a_file_keeps_its_owner(files, tmp_path):
    path = tmp_path / "f"
    path.write_text("old")
    os.chown(path, 1234, 4321)
    path.chmod(0o4755)
    with path.open() as old:
        files.write("f", "new")
        assert not os.path.samestat(os.fstat(old.fileno()), path.stat())
    for mode in ("truncate", "insert", "append"):
        files.write("f", "new", mode=mode)
        found = path.stat()
        assert (found.st_uid, found.st_gid, mode_of(path)) == (1234, 4321, 0o4755)


def test_a_file_keeps_its_attributes_and_takes_on_none(files, tmp_path):
    path = tmp_path / "f"
    path.write_text("old")
    try:
        os.setxattr(path, "user.note", b"kept")
    except OSError:
        pytest.skip("the file system has no attributes")
    files.write("f", "new")
    assert os.getxattr(path, "user.note") == b"kept"


def access_list(folder, kind, *entries):
    """Set an access list the way `setfacl` does, with nothing but its bytes."""
    tags = {"user_obj": 1, "user": 2, "group_obj": 4, "mask": 16, "other": 32}
    raw = struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", tags[tag], bits, who) for tag, bits, who in entries
    )
    try:
        os.setxattr(folder, f"system.posix_acl_{kind}", raw)
    except OSError:
        pytest.skip("the file system has no access lists")


def test_a_file_keeps_its_access_list_and_is_given_none_by_its_folder(files, tmp_path):
    nobody = 0xFFFFFFFF
    entries = [
        ("user_obj", 6, nobody), ("user", 4, 1234), ("group_obj", 0, nobody),
        ("mask", 4, nobody), ("other", 0, nobody),
    ]  # fmt: skip
    listed, plain = tmp_path / "listed", tmp_path / "plain"
    listed.write_text("old")
    plain.write_text("old")
    access_list(listed, "access", *entries)
    access_list(tmp_path, "default", *entries)
    was = os.getxattr(listed, "system.posix_acl_access")
    modes = mode_of(listed), mode_of(plain)
    for name in ("listed", "plain"):
        files.write(name, "new")
    assert os.getxattr(listed, "system.posix_acl_access") == was
    assert "system.posix_acl_access" not in os.listxattr(plain)
    assert (mode_of(listed), mode_of(plain)) == modes
    files.write("made", "new")
    assert "system.posix_acl_access" in os.listxattr(tmp_path / "made")


@pytest.mark.parametrize("call", ["write", "copy"])
def test_what_takes_a_files_place_is_at_no_time_open_to_more_people(
    files, tmp_path, monkeypatch, call
):
    """Until the list is there the bits of the group are the group's own."""
    nobody = 0xFFFFFFFF
    path = tmp_path / "listed"
    path.write_text("old")
    access_list(
        path, "access", ("user_obj", 6, nobody), ("user", 4, 1234), ("group_obj", 0, nobody),
        ("mask", 4, nobody), ("other", 0, nobody),
    )  # fmt: skip
    was, seen = os.getxattr(path, "system.posix_acl_access"), []
    fchmod = os.fchmod

    def looked(file, mode):
        assert os.getxattr(file, "system.posix_acl_access") == was
        seen.append(mode)
        fchmod(file, mode)

    monkeypatch.setattr(os, "fchmod", looked)
    if call == "write":
        files.write("listed", "new")
    else:
        files.copy("listed", "copy")
    assert seen == [0o640]


def test_a_copy_that_cannot_have_the_access_list_is_not_the_groups(files, tmp_path, monkeypatch):
    nobody = 0xFFFFFFFF
    path = tmp_path / "listed"
    path.write_text("old")
    access_list(
        path, "access", ("user_obj", 6, nobody), ("user", 4, 1234), ("group_obj", 0, nobody),
        ("mask", 4, nobody), ("other", 4, nobody),
    )  # fmt: skip

    def none_here(*arguments, **more):
        raise OSError(errno.EOPNOTSUPP, "no lists here")

    monkeypatch.setattr(os, "setxattr", none_here)
    files.copy("listed", "copy")
    assert mode_of(path) == 0o644
    assert mode_of(tmp_path / "copy") == 0o604


def test_a_file_of_several_names_stays_one_file(files, tmp_path):
    path, other = tmp_path / "f", tmp_path / "g"
    path.write_text("old")
    os.link(path, other)
    for mode, becomes in (("truncate", "new"), ("insert", "newnew"), ("append", "newnewnew")):
        files.write("f", "new", mode=mode)
        assert path.samefile(other)
        assert other.read_text() == becomes
    files.write("f", "s")
    assert other.read_text() == "s"


def test_what_would_not_be_kept_is_written_in_place(files, tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_text("old, longer")
    inode = path.stat().st_ino

    def not_kept(source, target):
        raise NotKept

    monkeypatch.setattr("ahpd.resources.files.writing.give_all", not_kept)
    files.write("f", "new")
    assert (path.read_text(), path.stat().st_ino) == ("new", inode)
    assert files.names() == ["f"]


# -- permissions -----------------------------------------------------------------------


def test_permissions_are_those_of_the_file_and_its_folder(
    files_under, open_folder, refused, as_nobody
):
    files = files_under(open_folder)
    with as_nobody():
        for name, mode in (("own", 0o600), ("readonly", 0o444), ("blind", 0o200)):
            (open_folder / name).write_text("old")
            (open_folder / name).chmod(mode)
        for folder, mode in (("kept", 0o555), ("closed", 0)):
            (open_folder / folder).mkdir()
            (open_folder / folder / "f").write_text("old")
            (open_folder / folder).chmod(mode)
        files.write("own", "new")
        files.write("blind", "new")
        files.write("kept/f", "n")
        for name in ("readonly", "kept/new", "closed/f"):
            with refused(-32009, f"Permission denied: {files.uri(name)}"):
                files.write(name, "new")
        with refused(-32009):
            files.write("readonly", "new", mode="append")
        for folder in ("kept", "closed"):
            (open_folder / folder).chmod(0o755)
        (open_folder / "blind").chmod(0o600)
    assert {name: (open_folder / name).read_text() for name in files.names() if "/" in name} == {
        "closed/f": "old",
        "kept/f": "n",
    }
    for name, content in (("own", "new"), ("readonly", "old"), ("blind", "new")):
        assert (open_folder / name).read_text() == content


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a file of another owner")
def test_a_file_of_another_owner_stays_theirs(files_under, open_folder, as_nobody):
    files = files_under(open_folder)
    path = open_folder / "f"
    path.write_text("old")
    path.chmod(0o666)
    inode = path.stat().st_ino
    with as_nobody():
        files.write("f", "new")
        files.write("f", "and ", mode="insert")
    found = path.stat()
    assert (path.read_text(), found.st_uid, found.st_ino) == ("and new", 0, inode)
    assert files.names() == ["f"]


# -- when the system refuses -------------------------------------------------------------


def failing(monkeypatch, what, number):
    real = getattr(os, what)

    def fail(*arguments, **more):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, what, fail)
    return real


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (errno.ENOSPC, -32603, "no space left"),
        (errno.EDQUOT, -32603, "quota"),
        (errno.EFBIG, -32603, "larger than a file may be"),
        (errno.EIO, -32603, "Input/output error"),
        (errno.EROFS, -32009, "read-only"),
    ],
)
@pytest.mark.parametrize("breaks", ["write", "fsync", "rename"])
def test_what_was_there_stays_where_it_fails(
    files, tmp_path, refused, monkeypatch, number, code, words, breaks
):
    (tmp_path / "f").write_text("old")
    with monkeypatch.context() as patched:
        failing(patched, breaks, number)
        with refused(code, files.uri("f"), words):
            files.write("f", "new")
        if breaks != "rename":
            with refused(code, files.uri("g"), words):
                files.write("g", "new")
    assert (tmp_path / "f").read_text() == "old"
    assert files.names() == ["f"]


def test_an_append_that_does_not_fit_is_taken_back(files, tmp_path, refused, monkeypatch):
    path = tmp_path / "f"
    path.write_text("old")
    write, steps = os.write, []

    def part(file, data):
        if steps:
            raise OSError(errno.ENOSPC, "full")
        steps.append(file)
        return write(file, bytes(data)[:2])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", part)
        with refused(-32603, "no space left"):
            files.write("f", "new", mode="append")
    assert path.read_text() == "old"


@pytest.mark.parametrize("mode", ["truncate", "insert"])
def test_a_write_in_place_that_does_not_fit_leaves_the_old(
    files, tmp_path, refused, monkeypatch, mode
):
    (tmp_path / "f").write_text("old")
    os.link(tmp_path / "f", tmp_path / "g")
    with monkeypatch.context() as patched:
        failing(patched, "posix_fallocate", errno.ENOSPC)
        with refused(-32603, "no space left"):
            files.write("f", "new and longer", mode=mode)
    assert (tmp_path / "g").read_text() == "old"
    with monkeypatch.context() as patched:
        failing(patched, "posix_fallocate", errno.EOPNOTSUPP)
        files.write("f", "new and longer", mode=mode)
    assert (tmp_path / "g").read_text() == "new and longer" + "old" * (mode == "insert")


FULL = """
import itertools, os, subprocess, sys
from pathlib import Path
from ahpd.interfaces import RpcError
from ahpd.resources.files.writing import Writer

top = Path(sys.argv[1])
done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", top])
if done.returncode:
    sys.exit(77)
numbers = itertools.count()
writer = Writer(lambda: str(next(numbers)))
old = "o" * 100_000
for name in ("f", "g", "h"):
    (top / name).write_text(old if name == "f" else "")
os.link(top / "g", top / "g2")

def write(name, data, **more):
    try:
        writer.write({"uri": (top / name).as_uri(), "data": data, "encoding": "utf-8", **more})
    except RpcError as error:
        assert error.code == -32603 and "no space left" in error.message, error
        return False
    return True

big = "b" * 200_000
assert not write("f", big)
assert not write("f", big, mode="append")
assert not write("f", big, mode="insert", position=5)
assert not write("new", big, createOnly=True)
assert not write("g", big)
assert not write("g", big, mode="append")
assert (top / "f").read_text() == old
assert (top / "g").read_text() == "" == (top / "h").read_text()
assert sorted(os.listdir(top)) == ["f", "g", "g2", "h"]
assert write("f", "fits", mode="append")
"""


def test_a_full_disk_leaves_the_old_content_whole(tmp_path):
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare")
    done = subprocess.run(
        ["unshare", "-m", sys.executable, "-c", FULL, tmp_path],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("may not mount")
    assert done.returncode == 0, done.stderr
