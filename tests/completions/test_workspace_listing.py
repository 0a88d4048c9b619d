"""Which files of a folder are listed."""

import os
import shutil
import subprocess

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from zope.interface import implementer

from ahpd.completions.workspace import KEPT, WorkspaceFiles, known_to_git, walk
from ahpd.interfaces import IPrograms, ProgramFailure
from ahpd.processes.programs import Programs
from ahpd.processes.supervisor import ProcessSupervisor

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def now(work):
    return succeed(None).addCallback(lambda _: work())


def make(root, *paths):
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")


def listed(workspace, directory):
    results = []
    Deferred.fromCoroutine(workspace.files(str(directory))).addBoth(results.append)
    return results[0]


def test_a_plain_folder_is_walked_near_files_first(tmp_path):
    make(tmp_path, "b.txt", "a/deep/x", "a/y", "node_modules/p/i.js", ".git/config", ".env")
    assert walk(str(tmp_path)) == (".env", "b.txt", "a/y", "a/deep/x")


def test_links_lead_nowhere_twice(tmp_path):
    make(tmp_path, "a/x")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    (tmp_path / "file").symlink_to(tmp_path / "a" / "x")
    (tmp_path / "itself").symlink_to(tmp_path / "itself")
    assert walk(str(tmp_path)) == ("file", "a/x")


def test_a_walk_is_bounded_in_number_and_time(tmp_path):
    make(tmp_path, *(f"{folder}/{n}" for folder in "abc" for n in range(10)))
    assert len(walk(str(tmp_path), most=7)) == 7
    ticks = iter(range(1000))
    assert walk(str(tmp_path), seconds=0.5, now=lambda: next(ticks)) == ()
    some = walk(str(tmp_path), seconds=10.5, now=lambda: next(ticks))
    assert len(some) == 7  # three steps saw the folders


def test_a_folder_that_is_not_there_has_no_files(tmp_path):
    assert walk(str(tmp_path / "none")) == ()


def test_names_that_are_no_utf8_are_listed(tmp_path):
    name = b"caf\xe9"
    os.close(os.open(os.fsencode(tmp_path) + b"/" + name, os.O_CREAT))
    assert [os.fsencode(path) for path in walk(str(tmp_path))] == [name]


def test_what_git_says_is_read():
    output = (
        b"H 100644 abc 0\tb.py\0H 100644 abc 0\tgone.py\0R 100644 abc 0\tgone.py\0"
        b"H 160000 abc 0\tsubmodule\0? d/new.py\0? nested/\0H 120000 abc 0\tli\tnk\0"
    )
    assert known_to_git(output) == ("b.py", "li\tnk", "d/new.py")


@implementer(IPrograms)
class NoGit:
    def __init__(self):
        self.asked = 0

    async def output(self, argv, directory, most, seconds):
        self.asked += 1
        raise ProgramFailure("git is not here")


def test_a_folder_git_does_not_answer_for_is_walked(tmp_path):
    make(tmp_path, "x", ".git/HEAD")
    programs = NoGit()
    assert listed(WorkspaceFiles(Clock(), now, programs), tmp_path) == ("x",)
    assert programs.asked == 1


def test_git_is_not_asked_outside_a_repository(tmp_path):
    make(tmp_path, "x")
    programs = NoGit()
    assert listed(WorkspaceFiles(Clock(), now, programs), tmp_path) == ("x",)
    assert programs.asked == 0


def test_a_listing_serves_for_a_while(tmp_path):
    clock = Clock()
    workspace = WorkspaceFiles(clock, now)
    make(tmp_path, "x")
    first = listed(workspace, tmp_path)
    make(tmp_path, "y")
    assert listed(workspace, tmp_path) is first
    clock.advance(KEPT)
    assert listed(workspace, tmp_path) == ("x", "y")


def test_who_asks_while_it_lists_is_answered_with_it(tmp_path):
    make(tmp_path, "x")
    held = []

    def later(work):
        done = Deferred()
        held.append((done, work))
        return done

    workspace = WorkspaceFiles(Clock(), later)
    results = []
    for _ in range(3):
        Deferred.fromCoroutine(workspace.files(str(tmp_path))).addCallback(results.append)
    assert results == []
    assert len(held) == 1
    done, work = held[0]
    done.callback(work())
    assert results == [("x",)] * 3


def test_one_that_fails_leaves_nobody_waiting(tmp_path):
    held = []

    def later(work):
        held.append(Deferred())
        return held[-1]

    workspace = WorkspaceFiles(Clock(), later)
    results = []
    for _ in range(2):
        Deferred.fromCoroutine(workspace.files(str(tmp_path))).addBoth(results.append)
    held[0].errback(OSError("no thread"))
    assert sorted(type(result).__name__ for result in results) == ["Failure", "tuple"]


@needs_git
@pytest_twisted.ensureDeferred
async def test_git_leaves_out_what_the_repository_ignores(tmp_path):
    from twisted.internet import reactor

    def git(*args, at=tmp_path):
        subprocess.run(["git", *args], cwd=at, check=True, capture_output=True)

    marker = tmp_path.parent / f"{tmp_path.name}-ran"
    git("init", "-q")
    git("config", "core.fsmonitor", f"touch {marker}")
    make(tmp_path, "src/kept.py", "src/new.py", "build/out.o", "gone.py", "nested/x")
    (tmp_path / ".gitignore").write_text("build\n")
    git("-c", "core.fsmonitor=false", "add", "src/kept.py", "gone.py", ".gitignore")
    (tmp_path / "gone.py").unlink()
    git("init", "-q", at=tmp_path / "nested")
    supervisor = ProcessSupervisor(reactor)
    try:
        workspace = WorkspaceFiles(Clock(), now, Programs(supervisor, reactor))
        found = await workspace.files(str(tmp_path))
        assert found == (".gitignore", "src/kept.py", "src/new.py")
        assert await workspace.files(str(tmp_path / "src")) == ("kept.py", "new.py")
        # a folder the repository ignores is somebody's working directory all the same
        assert await workspace.files(str(tmp_path / "build")) == ("out.o",)
        assert not marker.exists()
    finally:
        await supervisor.stopService()


@pytest_twisted.ensureDeferred
async def test_programs_that_give_no_output_to_use_fail_in_words(tmp_path):
    from twisted.internet import reactor

    supervisor = ProcessSupervisor(reactor, grace=0.1)
    programs = Programs(supervisor, reactor)
    try:
        assert await programs.output(["echo", "hi"], str(tmp_path), 10, 5) == b"hi\n"
        for argv, most, seconds, words in (
            (["sh", "-c", "exit 3"], 10, 5, "sh exited with code 3"),
            (["sh", "-c", "yes"], 1000, 5, "more than 1000 bytes"),
            (["sleep", "60"], 10, 0.1, "longer than 0.1 s"),
            (["no-such-program-here"], 10, 5, "there is no such program"),
        ):
            with pytest.raises(ProgramFailure, match=words):
                await programs.output(argv, str(tmp_path), most, seconds)
        assert supervisor.children == ()
    finally:
        await supervisor.stopService()
