"""Work on files that a stop, or a file without an end, cuts short; and reads that are large."""

import threading

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ahpd.interfaces import RpcError, Wanted, WatchRequest
from ahpd.resources.files import copying
from ahpd.resources.files.at_work import FilesAtWork
from ahpd.resources.files.provider import (
    LARGE_AT_ONCE,
    SMALL,
    SMALL_AT_ONCE,
    FileResources,
)
from ahpd.resources.files.writing import Writer
from ahpd.resources.watching.files import FileWatcher
from ahpd.threads import in_thread


class Stopping:
    """Goes on so many times, and then no more."""

    def __init__(self, times):
        self.left = times
        self.work = FilesAtWork()

    def __call__(self):
        self.left -= 1
        if self.left < 0:
            self.work.stopService()
        self.work.go_on()


@pytest.fixture
def tree(tmp_path):
    top = tmp_path / "tree"
    (top / "sub").mkdir(parents=True)
    for number in range(10):
        (top / f"f{number}").write_text("x")
        (top / "sub" / f"g{number}").write_text("y")
    return top


def names(top):
    return sorted(str(path.relative_to(top)) for path in top.rglob("*"))


@pytest.mark.parametrize("times", [1, 2, 5, 15, 22])
def test_a_stop_takes_a_copy_back(files_under, tmp_path, tree, refused, times):
    files = files_under(tmp_path, go_on=Stopping(times))
    before = names(tree)
    with refused(-32603, "is stopping"):
        files.copy("tree", "copy")
    assert [path.name for path in tmp_path.iterdir()] == ["tree"]
    assert names(tree) == before


@pytest.mark.parametrize("times", [1, 5, 15])
def test_a_stop_leaves_what_is_not_deleted_yet(files_under, tmp_path, tree, refused, times):
    files = files_under(tmp_path, go_on=Stopping(times))
    with refused(-32603, "is stopping"):
        files.delete("tree", recursive=True)
    assert names(tree)


def test_a_stop_leaves_the_old_content_of_a_file(tmp_path):
    (tmp_path / "f").write_text("old")
    write = Writer(lambda: "id", Stopping(0)).write
    params = {"uri": (tmp_path / "f").as_uri(), "data": "new", "encoding": "utf-8"}
    with pytest.raises(RpcError, match="is stopping"):
        write({**params, "mode": "insert", "position": 1})
    assert (tmp_path / "f").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_what_waits_for_a_thread_is_not_begun(files_under, tmp_path, refused):
    files = files_under(tmp_path, go_on=Stopping(0))
    (tmp_path / "f").write_text("x")
    for work in (files.read, files.list, files.delete):
        with refused(-32603, "is stopping"):
            work("f")
    assert (tmp_path / "f").exists()


def test_a_file_that_grows_is_copied_as_long_as_it_was(files, tmp_path, monkeypatch):
    (tmp_path / "f").write_text("as it was")
    pour = copying.pour

    def grows(*arguments):
        with (tmp_path / "f").open("a") as file:
            file.write(" and more")
        return pour(*arguments)

    monkeypatch.setattr(copying, "pour", grows)
    files.copy("f", "g")
    assert (tmp_path / "g").read_text() == "as it was"


def test_what_has_no_size_is_copied_and_what_has_no_end_is_not(
    files, tmp_path, monkeypatch, refused
):
    files.done(files.provider.copy("file:///proc/version", files.uri("version"), False))
    assert (tmp_path / "version").read_bytes().startswith(b"Linux version")
    with open("/proc/version", "rb") as file:  # noqa: PTH123
        monkeypatch.setattr(copying, "_MOST_UNSIZED", len(file.read()) - 1)
    with refused(-32602, "has no end to see"):
        files.done(files.provider.copy("file:///proc/version", files.uri("version"), False))
    assert [path.name for path in tmp_path.iterdir()] == ["version"]


def watched(tree, go_on):
    """What watching a tree comes to, the clock, and the changes it is told of."""
    clock, told = Clock(), []
    watcher = FileWatcher(in_thread(clock), clock, clock, go_on=go_on)
    request = WatchRequest(root=tree.as_uri(), recursive=True)
    results = []
    Deferred.fromCoroutine(watcher.watch(request, told.extend)).addBoth(results.append)
    return results, clock, told


@pytest.mark.parametrize("times", [0, 1])
def test_a_stop_gives_up_a_tree_that_is_read_to_be_watched(tree, times):
    results, clock, _ = watched(tree, Stopping(times))
    assert results[0].check(RpcError)
    assert results[0].value.code == -32603
    assert clock.getDelayedCalls() == []


def test_a_watch_that_looks_while_the_host_stops_says_nothing(tree):
    results, clock, told = watched(tree, Stopping(3))
    (watcher,) = results
    (tree / "later").write_text("x")
    clock.pump([2.0] * 5)
    assert told == []
    done = []
    watcher.release().addCallback(done.append)
    assert done
    assert clock.getDelayedCalls() == []


class Threads:
    """Work that is done when a test says so."""

    def __init__(self):
        self.waiting = []

    def __call__(self, work):
        done = Deferred()
        self.waiting.append((work, done))
        return done

    def run(self):
        waiting, self.waiting = self.waiting, []
        for work, done in waiting:
            try:
                result = work()
            except RpcError as error:
                done.errback(error)
            else:
                done.callback(result)
        return len(waiting)


def test_few_large_reads_are_made_at_a_time_and_small_ones_wait_for_none(tmp_path):
    threads = Threads()
    provider = FileResources(threads, ids=lambda: "id")
    (tmp_path / "large").write_bytes(b"x" * (SMALL + 1))
    (tmp_path / "small").write_bytes(b"x" * SMALL)
    answers = []

    def read(name, **wanted):
        uri = (tmp_path / name).as_uri()
        reading = Deferred.fromCoroutine(provider.read(uri, Wanted(**wanted)))
        reading.addBoth(lambda answer: answers.append(len(answer["data"])))

    most = LARGE_AT_ONCE
    for _ in range(2 * most):
        read("large")
    assert threads.run() == 2 * most  # each is looked at, and found to be large
    assert answers == []
    read("small")
    read("large", offset=1)
    assert threads.run() == most + 2
    assert sorted(answers) == [SMALL, SMALL, *[SMALL + 1] * most]
    assert [threads.run() for _ in range(2)] == [most, 0]
    assert answers.count(SMALL + 1) == 2 * most


def test_many_small_reads_are_not_all_made_at_once(tmp_path):
    threads = Threads()
    provider = FileResources(threads, ids=lambda: "id")
    (tmp_path / "f").write_text("x")
    for _ in range(2 * SMALL_AT_ONCE + 1):
        Deferred.fromCoroutine(provider.read((tmp_path / "f").as_uri(), Wanted()))
    assert [threads.run() for _ in range(4)] == [SMALL_AT_ONCE, SMALL_AT_ONCE, 1, 0]


def test_a_stop_is_seen_in_every_thread(tmp_path):
    work = FilesAtWork()
    work.go_on()
    work.startService()
    work.stopService()
    seen = []

    def look():
        try:
            work.go_on()
        except RpcError as error:
            seen.append(error.code)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [-32603]
