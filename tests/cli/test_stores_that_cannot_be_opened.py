"""A store that cannot be opened stops every way to start a host, in one line and untouched."""

import errno
import fcntl
import os
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

FREE = ("--port", "0", "--without-connection-token")
#: Each way to start a host, and what its line begins with.
WAYS = {
    "ahpd": (None, (), "ahpd: "),
    "start": (None, ("start",), "ahpd: the daemon did not start: "),
    "twistd": (
        (str(Path(sys.executable).with_name("twistd")), "-n", "--pidfile="),
        ("ahpd",),
        "ahpd: ",
    ),
}

#: Where a host keeps its sessions, under its home.
KEPT_IN = Path(".local", "share", "ahpd")

#: Locks of the test's own.
HELD = []


@pytest.fixture(scope="module")
def left(tmp_path_factory, run_command):
    """The folder of a store a daemon used and left; each test has a copy of it."""
    used = run_command(tmp_path_factory.mktemp("left") / "home")
    used.run("start", *FREE, status=0)
    used.run("stop", status=0)
    return used.home / KEPT_IN


@pytest.fixture
def data(command, left):
    """A folder as a daemon left it, where the command keeps its sessions."""
    there = command.home / KEPT_IN
    shutil.copytree(left, there)
    yield there
    while HELD:
        os.close(HELD.pop())


def damaged(data):
    (data / "sessions.sqlite").write_bytes(b"somebody's only copy of something else")
    return data / "sessions.sqlite", "it is damaged, or no SQLite database at all"


def newer(data):
    database = sqlite3.connect(data / "sessions.sqlite")
    database.execute("PRAGMA user_version = 99")
    database.close()
    return data / "sessions.sqlite", "it was written by a newer ahpd (version 99"


def locked(data):
    HELD.append(os.open(data / "sessions.lock", os.O_RDWR))
    fcntl.flock(HELD[-1], fcntl.LOCK_EX)
    return data, "the sessions in it are in use by another ahpd"


def no_folder(data):
    for path in data.iterdir():
        path.unlink()
    data.rmdir()
    data.write_text("a file")
    return data, "it is no folder, and sessions are kept in one"


def broken_record(data):
    (data / "host.json").write_text("[1")
    return data / "host.json", "it is damaged, no JSON object of objects; move it away"


def contents(data):
    files = [data] if data.is_file() else sorted(data.iterdir())
    return {path.name: path.read_bytes() for path in files if path.name != "sessions.lock"}


@pytest.mark.parametrize("spoil", [damaged, newer, locked, no_folder, broken_record])
def test_it_is_one_line_that_names_file_and_reason(command, data, spoil):
    named, reason = spoil(data)
    before = contents(data)
    for program, arguments, head in WAYS.values():
        options = {} if program is None else {"program": program}
        done = command.run(*arguments, *FREE, status=1, **options)
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"{head}{named}: {reason}")
    assert contents(data) == before
    assert command.answer("start", *FREE, status=1)["error"].count(str(named)) == 1
    assert command.answer("status", status=1) == {"running": False}


def test_a_folder_that_cannot_be_made_is_said_with_the_key_that_names_it(command):
    (command.work / "file").write_text("")
    place = command.work / "file" / "kept"
    done = command.run(*FREE, "--data-directory", "file/kept", status=1)
    assert done.stdout == ""
    assert done.stderr == (
        f"ahpd: {place}: Not a directory; sessions are kept in the folder that dataDirectory names\n"
    )


#: The command on a disk that is full, or cannot be written, for all files under its home.
HURT = """
import os, sys
opened, number, ending = os.open, int(sys.argv.pop(1)), sys.argv.pop(1)
def open(path, flags, *rest, **more):
    if str(path).endswith(ending) and flags & (os.O_WRONLY | os.O_RDWR):
        raise OSError(number, os.strerror(number), str(path))
    return opened(path, flags, *rest, **more)
os.open = open
from ahpd.cli.main import main
main()
"""


@pytest.mark.parametrize(
    ("number", "ending", "reason"),
    [
        (errno.EROFS, "sessions.lock", "Read-only file system"),
        (errno.ENOSPC, "sessions.lock", "No space left on device"),
        (errno.ENOSPC, "sessions.sqlite.new", "No space left on device"),
        (errno.EACCES, "sessions.lock", "Permission denied"),
    ],
)
def test_a_disk_that_takes_nothing_is_said(command, number, ending, reason):
    program = (sys.executable, "-P", "-c", HURT, str(number), ending)
    done = command.run(*FREE, program=program, status=1)
    data = command.home / KEPT_IN
    named = data / ("sessions.lock" if ending == "sessions.lock" else "sessions.sqlite")
    assert done.stdout == ""
    assert done.stderr.startswith(f"ahpd: {named}: {reason}")
    assert done.stderr.count("\n") == 1
    assert not (data / "sessions.sqlite").exists()
