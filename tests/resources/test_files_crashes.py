"""Writes that are cut off, and writes at the same time: a file is one of its versions."""

# The system's own calls are what is spoken of here.
# ruff: noqa: PTH208

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred, ensureDeferred, gatherResults

from ahpd.interfaces import RpcError
from ahpd.resources.files.locks import Locks, Turns
from ahpd.resources.files.provider import FileResources
from ahpd.resources.files.writing import Writer

#: Writes versions of a file for as long as it lives: each is its number over and over.
WRITES = """
import itertools, os, sys
from pathlib import Path
from ahpd.resources.files.writing import Writer

path, size, mode = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
numbers = itertools.count()
writer = Writer(lambda: f"{os.getpid()}-{next(numbers)}")
print("ready", flush=True)
for number in itertools.count():
    line = f"{number % 10}"
    if mode == "truncate":
        writer.write({"uri": path.as_uri(), "data": line * size, "encoding": "utf-8"})
    else:  # the same length again: the last version, moved behind a new line
        writer.write({"uri": path.as_uri(), "data": "head\\n", "encoding": "utf-8",
                      "mode": "insert"})
"""


def killed_while_writing(path, size, mode, after):
    with subprocess.Popen(
        [sys.executable, "-c", WRITES, path, str(size), mode], stdout=subprocess.PIPE
    ) as child:
        assert child.stdout.readline() == b"ready\n"
        time.sleep(after)  # where in a write it is killed is what varies
        child.send_signal(signal.SIGKILL)


#: Kills itself at every call of the system a piece of work makes, one after the other, in a
#: process each, and shows what each left: one line of JSON a time.
DIES = """
import itertools, json, os, shutil, signal, sys
from pathlib import Path
from ahpd.resources.files.copying import copy
from ahpd.resources.files.moving import move
from ahpd.resources.files.removing import delete
from ahpd.resources.files.writing import Writer

top, work = Path(sys.argv[1]), sys.argv[2]
numbers = itertools.count()
ids = lambda: str(next(numbers))
uri = lambda name: (top / name).as_uri()

def prepare():
    shutil.rmtree(top, ignore_errors=True)
    (top / "full").mkdir(parents=True)
    (top / "f").write_text("old")
    (top / "full" / "x").write_text("x")

def write(**more):
    params = {"uri": uri("f"), "data": "new", "encoding": "utf-8"}
    Writer(ids).write(params | more)

def dies_at(point):
    calls = itertools.count(1)
    def counted(real):
        def call(*arguments, **more):
            if next(calls) == point:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **more)
        return call
    for name in ("open", "write", "copy_file_range", "pread", "fsync", "rename", "unlink", "link",
                 "mkdir", "rmdir", "fchmod", "utime", "stat", "close", "ftruncate"):
        setattr(os, name, counted(getattr(os, name)))
    exec(work)

for point in itertools.count(1):
    prepare()
    child = os.fork()
    if not child:
        dies_at(point)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    found = {str(p.relative_to(top)): p.read_text() for p in top.rglob("*") if p.is_file()}
    print(json.dumps(found))
    if not status:
        break
    assert os.WIFSIGNALED(status), status
"""


def left_by_each_crash(tmp_path, work):
    done = subprocess.run(
        [sys.executable, "-c", DIES, tmp_path / "top", work],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) > 5
    for each in found[:-1]:
        drafts = [name for name in each if name.startswith(".ahpd-")]
        assert all(".part" in name for name in drafts)
        yield {name: each[name] for name in each if name not in drafts}, False
    yield found[-1], True


@pytest.mark.parametrize(
    ("work", "becomes"),
    [
        ("write()", "new"),
        ("write(mode='insert', position=1)", "onewld"),
        ("write(position=1)", "onew"),
        ("write(mode='append', position=1)", "olnewd"),
        ("write(mode='append')", "oldnew"),
        ("copy(uri('full/x'), uri('f'), False, ids)", "x"),
    ],
)
def test_killed_at_any_moment_a_file_is_the_old_or_the_new(tmp_path, work, becomes):
    for found, is_done in left_by_each_crash(tmp_path, work):
        assert found.pop("full/x") == "x"
        assert found == {"f": becomes} if is_done else found in ({"f": "old"}, {"f": becomes})


def test_killed_at_any_moment_a_new_file_is_there_whole_or_not_at_all(tmp_path):
    work = "write(uri=uri('g'), createOnly=True)"
    for found, is_done in left_by_each_crash(tmp_path, work):
        assert found.get("g", "new") == "new"
        assert not is_done or "g" in found


def test_killed_at_any_moment_a_copied_folder_is_there_whole_or_not_at_all(tmp_path):
    for found, is_done in left_by_each_crash(tmp_path, "copy(uri('full'), uri('g'), True, ids)"):
        assert {"f", "full/x"} <= found.keys()
        assert found.get("g/x", "x") == "x"
        assert not is_done or "g/x" in found


def test_killed_at_any_moment_a_move_leaves_one_or_the_other(tmp_path):
    for found, is_done in left_by_each_crash(tmp_path, "move(uri('f'), uri('full/x'), False, ids)"):
        moved = {"full/x": "old"}
        assert found == moved if is_done else found in (moved, {"f": "old", "full/x": "x"})


@pytest.mark.parametrize("round_", range(6))
def test_a_file_whose_writer_is_killed_is_one_of_its_versions(tmp_path, round_):
    path, size = tmp_path / "f", 3_000_000
    path.write_text("x" * size)
    killed_while_writing(path, size, "truncate", random.uniform(0.0, 0.08))
    content = path.read_text()
    assert len(content) == size
    assert len(set(content)) == 1
    left = [name for name in os.listdir(tmp_path) if name != "f"]
    assert len(left) <= 1
    assert all(name.startswith(".ahpd-") and name.endswith(".part") for name in left)


@pytest.mark.parametrize("round_", range(2))
def test_an_insert_whose_writer_is_killed_is_whole(tmp_path, round_):
    path, tail = tmp_path / "f", "t" * 2_000_000
    path.write_text(tail)
    killed_while_writing(path, 0, "insert", random.uniform(0.0, 0.08))
    head, _, rest = path.read_text().rpartition("head\n")
    assert rest == tail
    assert head == "head\n" * (len(head) // 5)


def test_a_reader_finds_one_version_or_the_next(tmp_path):
    path = tmp_path / "f"
    versions = {letter * 300_000 for letter in "abc"}
    path.write_text("a" * 300_000)
    writer, over = Writer(map(str, itertools.count()).__next__), threading.Event()
    seen = set()

    def read():
        while not over.is_set():
            seen.add(path.read_text())

    reader = threading.Thread(target=read)
    reader.start()
    for letter in "abc" * 20:
        writer.write({"uri": path.as_uri(), "data": letter * 300_000, "encoding": "utf-8"})
    over.set()
    reader.join()
    assert seen <= versions


@pytest.mark.parametrize("names", [("f",), ("f", "g"), ("f", "link/f")])
@pytest.mark.parametrize("position", [0, 1])
def test_appends_at_the_same_time_lose_nothing(tmp_path, names, position):
    (tmp_path / "f").write_text("." * position)
    if "g" in names:
        os.link(tmp_path / "f", tmp_path / "g")
    (tmp_path / "link").symlink_to(".")
    numbers = itertools.count()
    writer = Writer(lambda: str(next(numbers)))
    failed = []

    def append(letter):
        try:
            for number in range(20):
                name = names[number % len(names)]
                writer.write(
                    {
                        "uri": (tmp_path / name).as_uri(),
                        "data": f"{letter * 50}\n",
                        "encoding": "utf-8",
                        "mode": "append",
                        "position": position,
                    }
                )
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=append, args=(letter,)) for letter in "abcdef"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed
    content = (tmp_path / "f").read_text()
    assert content.endswith("." * position)
    lines = content[: len(content) - position].splitlines()
    assert sorted(lines) == sorted(letter * 50 for letter in "abcdef" for _ in range(20))


def test_appends_lose_nothing_to_another_program(tmp_path):
    path = tmp_path / "f"
    path.write_text("")
    script = "import os,sys\nf=os.open(sys.argv[1],os.O_WRONLY|os.O_APPEND)\n"
    script += "print('ready',flush=True)\nfor _ in range(3000): os.write(f,b'theirs\\n')"
    writer = Writer(map(str, itertools.count()).__next__)
    with subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        for _ in range(50):
            writer.write(
                {"uri": path.as_uri(), "data": "ours\n", "encoding": "utf-8", "mode": "append"}
            )
        assert child.wait() == 0
    lines = path.read_text().splitlines()
    assert (lines.count("theirs"), lines.count("ours")) == (3000, 50)
    assert len(lines) == 3050


def test_of_many_who_create_one_does(tmp_path):
    writer = Writer(map(str, itertools.count()).__next__)
    made, refused = [], []

    def create(number):
        try:
            writer.write(
                {
                    "uri": (tmp_path / "f").as_uri(),
                    "data": str(number),
                    "encoding": "utf-8",
                    "createOnly": True,
                }
            )
        except RpcError as error:
            refused.append(error.code)
        else:
            made.append(str(number))

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert refused == [-32010] * 7
    assert made == [(tmp_path / "f").read_text()]
    assert os.listdir(tmp_path) == ["f"]


# -- the order of writes ------------------------------------------------------------------


def test_writes_to_one_path_are_done_in_the_order_they_were_sent(tmp_path):
    waiting = []

    def in_thread(work):
        ready = Deferred().addCallback(lambda _: work())
        waiting.append(ready)
        return ready

    provider = FileResources(in_thread, ids=map(str, itertools.count()).__next__)
    uris = [(tmp_path / name).as_uri() for name in ("f", "f", "g")]
    sent = gatherResults(
        [
            ensureDeferred(provider.write({"uri": uri, "data": data, "encoding": "utf-8"}))
            for uri, data in zip(uris, ("first", "second", "third"), strict=True)
        ]
    )
    assert len(waiting) == 2  # the second waits for the first, the third for nobody
    waiting[1].callback(None)
    assert (tmp_path / "g").read_text() == "third"
    waiting[0].callback(None)
    assert (tmp_path / "f").read_text() == "first"
    waiting[2].callback(None)
    assert (tmp_path / "f").read_text() == "second"
    assert sent.called
    assert not provider._turns._locks


def test_a_turn_that_fails_or_is_not_waited_for_is_passed_on(tmp_path):
    turns, order = Turns(), []

    async def turn(name, until):
        async with turns.at("key"):
            order.append(name)
            await until

    first, third = Deferred(), Deferred()
    one = ensureDeferred(turn("one", first))
    two = ensureDeferred(turn("two", Deferred()))
    three = ensureDeferred(turn("three", third))
    two.addErrback(lambda _: None).cancel()
    one.addErrback(lambda _: None)
    first.errback(ValueError())
    assert order == ["one", "three"]
    third.callback(None)
    assert three.called
    assert not turns._locks


def test_a_lock_is_forgotten_when_nobody_is_at_it():
    locks = Locks()
    with locks.at("a"), locks.at("b"):
        assert len(locks._held) == 2
    with pytest.raises(ValueError), locks.at("a"):
        raise ValueError
    assert not locks._held


def test_a_draft_left_by_a_crash_is_in_nobodys_way(files, tmp_path):
    Path(tmp_path, ".ahpd-left.part").write_text("half")
    files.write("f", "new")
    assert (tmp_path / ".ahpd-left.part").read_text() == "half"
