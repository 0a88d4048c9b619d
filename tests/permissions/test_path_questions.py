"""Reads and writes of paths that are not what they look like."""

import gc
import os
import threading
import time

import pytest

from ahpd.interfaces.turns import Permission
from ahpd.permissions import Beside, Judge
from ahpd.permissions.patience import OutOfTime

from .permission_questions import file, ids, lists, project, question, shell


@pytest.fixture
def folder(tmp_path):
    return project(tmp_path)


def several(kind, paths, folder, **rules):
    first, *others = map(str, paths)
    permission = Permission(kind=kind, path=first, more_paths=tuple(others))
    session = {"permissions": lists(**rules)}
    return question(permission, session=session, folders=[str(folder)])


def decided(asked):
    return Judge(home="/home/nobody").judge(asked).decision


@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize(
    "path",
    [
        "~/.ssh/id", "~", "a.py", "./a.py", "file:///etc/passwd", "file://{0}/a.py", "FILE://{0}/a.py", "{0}/a.py\0", "{0}/" + "a/" * 2100,
        "{0}/../outside/secret", "{0}/out/secret", "{0}/dangling", "{0}/out/../secret", "/{0}/../x", "//{0}/../x", "{0}x/a.py",
        "/proc/self/root{0}/a.py", "/proc/self/cwd/a.py", "{0}/cwd/a.py", "{0}/fd", "", " {0}/a.py", "{0}/circle", "C:{0}/a.py", "\\{0}\\a.py",
        "{1}/PROJECT/a.py",
    ],
)  # fmt: skip
def test_what_leads_elsewhere_or_may_is_not_approved_for_where_it_is(folder, kind, path):
    (folder / "cwd").symlink_to("/proc/self/cwd")
    (folder / "fd").symlink_to("/proc/self/fd/0")
    (folder / "circle").symlink_to("circle")
    asked = file(kind, path.format(folder, folder.parent), folders=[str(folder)])
    assert decided(asked) == "ask"


@pytest.mark.parametrize(
    "path",
    [
        "{0}/a.py",
        "{0}/./a.py",
        "{0}//a.py",
        "/{0}/a.py",
        "{0}/sub/../a.py",
        "{0}/a.py/",
        "{0}/new/x",
    ],
)
def test_another_way_of_writing_what_is_there_is(folder, path):
    assert decided(file("read", path.format(folder), folders=[str(folder)])) == "approve"
    assert decided(file("write", path.format(folder), folders=[str(folder)])) == "approve"
    rule = [f"Read({folder}/*)", f"Read({folder}/new/*)"]
    asked = file("read", path.format(folder), deny=rule, folders=[str(folder)])
    assert decided(asked) == "deny", "and is refused as well"


def test_a_folder_of_links_costs_no_more_than_the_kernel_allows(folder):
    (folder / "l0").symlink_to(".")
    for number in range(60):
        (folder / f"l{number + 1}").symlink_to("/".join([f"l{number}"] * 400))
    began = time.thread_time()
    assert decided(file("read", folder / "l60" / "a.py", folders=[str(folder)])) == "ask"
    assert time.thread_time() - began < 0.5


# -- several paths ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_call_of_several_files_is_approved_where_each_is(folder, kind):
    inside, outside = folder / "a.py", folder.parent / "outside" / "secret"
    assert decided(several(kind, [inside, folder / "b.py"], folder)) == "approve"
    assert decided(several(kind, [inside, outside], folder)) == "ask"
    assert decided(several(kind, [outside, inside], folder)) == "ask"
    assert decided(several(kind, [inside, "~/x"], folder)) == "ask"
    assert decided(several(kind, [inside, folder / "out" / "secret"], folder)) == "ask"


def test_a_rule_that_refuses_names_any_of_them_and_one_that_approves_each(folder):
    inside, other = folder / "a.py", folder / "b.py"
    secret = folder.parent / "outside" / "secret"
    assert decided(several("write", [inside, other], folder, deny=["Edit(b.py)"])) == "deny"
    assert decided(several("write", [inside, other], folder, ask=["Edit(b.py)"])) == "ask"
    assert decided(several("write", [inside, secret], folder, allow=["Edit(a.py)"])) == "ask"
    both = ["Edit(a.py)", f"Edit({secret})"]
    assert decided(several("write", [inside, secret], folder, allow=both)) == "approve"
    hook = folder / ".vscode" / "x.json"
    assert decided(several("write", [inside, hook], folder, allow=["Edit"])) == "ask"


def test_a_grant_for_several_says_so_and_keeps_all_of_them(folder):
    outside = folder.parent / "outside"
    asked = several("write", [folder / "a.py", outside / "x", outside / "y"], folder)
    verdict = Judge(home="/home/nobody").judge(asked)
    [label] = {each["label"] for each in verdict.options if each["id"] == "allow-write-session"}
    assert "and 2 more" in label
    rules = verdict.grants["allow-write-session"].rules
    assert rules == tuple(
        f"Edit({each})" for each in (folder / "a.py", outside / "x", outside / "y")
    )
    again = several("write", [folder / "a.py", outside / "x", outside / "y"], folder, allow=rules)
    assert decided(again) == "approve"


# -- where a command runs --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("directory", "line", "decision"),
    [
        (None, "echo x > a", "approve"),
        ("{0}/sub", "echo x > a", "approve"),
        ("sub", "echo x > a", "approve"),
        ("{0}/sub", "echo x > ../../a", "ask"),
        ("{1}", "echo x > a", "ask"),
        ("..", "echo x > a", "ask"),
        ("~", "echo x > {0}/a", "approve"),
        ("{0}/out", "echo x > a", "ask"),
        ("{1}", "cd project", "approve"),
        ("{1}", "cd sub", "ask"),
        ("{0}", "cd sub", "approve"),
        ("/", "git log", "approve"),
        ("{1}", "git -C project log", "approve"),
        ("{1}", "git -C sub log", "ask"),
    ],
)
def test_relative_paths_begin_where_the_command_runs(folder, directory, line, decision):
    named = None if directory is None else directory.format(folder, folder.parent)
    command = line.format(folder, folder.parent)
    permission = Permission(kind="shell", command=command, directory=named)
    assert decided(question(permission, folders=[str(folder)])) == decision


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("git status", "approve"),
        ("git -C sub status", "ask"),
        ("cd sub && git status", "ask"),
        ("cd sub; cd x; git log", "ask"),
        ("cd sub; cd ..; git log", "ask"),
        ("git -C sub/x diff", "ask"),
        ("git -C ok status", "approve"),
        ("cd ok && git status", "approve"),
        ("git -C ok -C ../sub status", "ask"),
    ],
)
def test_git_is_not_let_into_a_repository_that_anybody_could_have_written(folder, line, decision):
    """Its settings name programs, and plain files in the folders are written unasked."""
    for name in ("sub/objects", "sub/refs", "sub/x", "ok/.git", ".git"):
        (folder / name).mkdir(parents=True)
    (folder / "sub" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "sub" / "config").write_text("[core]\n\tfsmonitor = ./anything\n")
    assert decided(shell(line, folders=[str(folder)])) == decision


def test_the_folder_itself_may_be_such_a_repository(folder):
    (folder / "objects").mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    assert decided(shell("git status", folders=[str(folder)])) == "ask"
    assert decided(shell("git status", folders=[])) == "ask"


# -- disks that do not answer ------------------------------------------------------------------------


def test_a_disk_that_does_not_answer_has_it_asked_about_and_holds_nobody(folder, monkeypatch):
    look = Beside(0.02)
    judge = Judge(home="/home/nobody", look=look)
    asked = file("read", folder / "a.py", folders=[str(folder)])
    assert judge.judge(asked).decision == "approve"
    answers, lstat = threading.Event(), os.lstat

    def slow(path, *more, **fields):
        if threading.current_thread() is not threading.main_thread():
            answers.wait(10)
        return lstat(path, *more, **fields)

    monkeypatch.setattr("ahpd.permissions.paths.os.lstat", slow)
    began = time.monotonic()
    everything = {"globalAutoApproveEnabled": True}
    for _ in range(6):
        verdict = judge.judge(file("read", "/hung/x", host=everything, folders=[str(folder)]))
        assert (verdict.decision, ids(verdict)) == ("ask", ["allow-once", "skip"])
    assert time.monotonic() - began < 1, "after a few nobody waits any more"
    answers.set()
    deadline = time.monotonic() + 5
    while judge.judge(asked).decision != "approve":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    look.close()


def test_what_looking_raises_is_raised_where_it_was_asked_for():
    look = Beside()
    with pytest.raises(ZeroDivisionError):
        look(lambda: 1 / 0)
    assert look(lambda: 3) == 3
    look.close()
    assert look(lambda: 4) == 4, "closed, it begins again"
    look.close()


def test_a_judge_that_is_gone_leaves_no_thread():
    before = set(threading.enumerate())
    look = Beside()
    look(lambda: None)
    [thread] = set(threading.enumerate()) - before
    del look
    gc.collect()
    thread.join(5)
    assert not thread.is_alive()


def test_looking_takes_as_long_as_it_may_and_no_longer():
    look, answers = Beside(0.01), threading.Event()
    with pytest.raises(OutOfTime):
        look(lambda: answers.wait(10))
    assert look(lambda: 5) == 5, "another thread looks"
    answers.set()
    look.close()
