"""Files that are watched on the real reactor: one batch for a burst, and what goes wrong."""

import errno
import os
import random
import shutil
import sys
import time
from types import SimpleNamespace

import pytest
import pytest_twisted
from inotify_simple import INotify
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ahpd.interfaces import WatchRequest
from ahpd.protocol.errors import RpcError
from ahpd.resources.watching import hints as hints_module
from ahpd.resources.watching import marks
from ahpd.resources.watching.files import FileWatcher
from ahpd.resources.watching.watch import MOST_IN_A_BATCH, Pace
from ahpd.threads import in_thread
from tests.watches.conftest import folded, listing, uri_of

SECONDS = 30.0
#: Long enough for a burst of a test to be one, and no test waits for the looks in between.
PACE = Pace(quiet=0.1, longest=0.5, between=3600.0)
EAGER = Pace(quiet=0.05, longest=0.2, between=0.1)

linux = pytest.mark.skipif(sys.platform != "linux", reason="there is no inotify")


class Batches:
    """What a watch said: `said` by batch, pairs of type and path below the root."""

    def __init__(self, root):
        self.uri = uri_of(root)
        self.said = []
        self._waiting = []

    def __call__(self, changes):
        assert changes, "an empty batch was said"
        self.said.append(
            [(each["type"], each["uri"][len(self.uri) :].lstrip("/")) for each in changes]
        )
        for waiting in tuple(self._waiting):
            if waiting[0]():
                self._waiting.remove(waiting)
                waiting[1].callback(None)

    @property
    def all(self):
        return [each for batch in self.said for each in batch]

    def until(self, condition):
        done = Deferred()
        if condition():
            done.callback(None)
        else:
            self._waiting.append((condition, done))
            done.addTimeout(SECONDS, reactor)
        return done

    def until_said(self, *changes):
        return self.until(lambda: all(change in self.all for change in changes))

    async def settled(self, root):
        """Wait for a file made now; what was said before it, and clear."""
        mark = root / "settled"
        mark.write_text("x")
        await self.until(lambda: ("added", "settled") in self.all)
        said = [each for each in self.all if each[1] != "settled"]
        mark.unlink()
        await self.until(lambda: ("deleted", "settled") in self.all)
        self.said.clear()
        return said


def watching(*, pace=PACE, **options):
    return FileWatcher(in_thread(reactor), reactor, reactor, pace=pace, **options)


async def watch(root, *, recursive=True, watcher=None, **options):
    batches = Batches(root)
    request = WatchRequest(root=uri_of(root), recursive=recursive, **options)
    watched = await (watcher or watching()).watch(request, batches)
    return watched, batches


def watched(test):
    """Run a coroutine test on the reactor."""

    @pytest_twisted.ensureDeferred
    async def run(tmp_path):
        root = tmp_path / "root"
        root.mkdir()
        await test(root)

    run.__name__ = test.__name__
    run.__doc__ = test.__doc__
    return run


async def failing(awaitable):
    with pytest.raises(RpcError) as caught:
        await awaitable
    return caught.value.code, caught.value.message


@linux
@watched
async def test_one_batch_says_what_a_burst_came_to(root):
    (root / "there").write_text("x")
    (root / "goes").write_text("x")
    watch_, batches = await watch(root)
    (root / "new").write_text("x")
    (root / "there").write_text("y")
    (root / "goes").unlink()
    (root / "for a moment").write_text("x")
    (root / "for a moment").unlink()
    await batches.until_said(("added", "new"))
    assert batches.said == [[("deleted", "goes"), ("added", "new"), ("updated", "there")]]
    await watch_.release()


@linux
@watched
async def test_an_atomic_save_is_a_change_of_the_file_alone(root):
    target = root / "notes.txt"
    target.write_text("one")
    watch_, batches = await watch(root)
    (root / ".notes.txt.swp").write_text("two")
    (root / ".notes.txt.swp").replace(target)
    await batches.until_said(("updated", "notes.txt"))
    assert batches.said == [[("updated", "notes.txt")]]
    await watch_.release()


@linux
@watched
async def test_a_file_that_becomes_a_folder_is_deleted_and_added(root):
    (root / "it").write_text("x")
    watch_, batches = await watch(root)
    (root / "it").unlink()
    (root / "it").mkdir()
    (root / "it" / "inside").write_text("x")
    await batches.until_said(("added", "it/inside"))
    assert batches.said == [[("deleted", "it"), ("added", "it"), ("added", "it/inside")]]
    batches.said.clear()
    shutil.rmtree(root / "it")
    (root / "it").write_text("y")
    await batches.until_said(("added", "it"))
    assert batches.said == [[("deleted", "it/inside"), ("deleted", "it"), ("added", "it")]]
    await watch_.release()


@linux
@watched
async def test_folders_that_move_take_what_is_in_them_along(root):
    outside = root.parent / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep" / "file").write_text("x")
    watch_, batches = await watch(root)
    outside.rename(root / "came")
    await batches.until_said(("added", "came/deep/file"))
    assert batches.said == [
        [("added", "came"), ("added", "came/deep"), ("added", "came/deep/file")]
    ]
    batches.said.clear()
    (root / "came" / "deep" / "file").write_text("y")
    await batches.until_said(("updated", "came/deep/file"))
    batches.said.clear()
    (root / "came").rename(root / "went")
    await batches.until_said(("added", "went/deep/file"))
    assert len(batches.said) == 1
    batches.said.clear()
    (root / "went").rename(outside)
    await batches.until_said(("deleted", "went"))
    assert batches.said == [
        [("deleted", "went/deep/file"), ("deleted", "went/deep"), ("deleted", "went")]
    ]
    batches.said.clear()
    (outside / "deep" / "file").write_text("nobody's")
    assert await batches.settled(root) == []
    await watch_.release()


@linux
@watched
async def test_a_watch_that_is_not_recursive_sees_the_root_and_what_is_right_in_it(root):
    (root / "folder").mkdir()
    watch_, batches = await watch(root, recursive=False)
    (root / "folder" / "below").write_text("x")
    (root / "file").write_text("x")
    (root / "other").mkdir()
    await batches.until_said(("added", "file"))
    assert batches.said == [[("added", "file"), ("added", "other")]]
    batches.said.clear()
    (root / "folder" / "below").write_text("y")
    assert await batches.settled(root) == []
    await watch_.release()


@linux
@pytest.mark.parametrize("linked", [False, True])
def test_a_file_is_watched_alone(tmp_path, linked):
    return pytest_twisted.ensureDeferred(_a_file_is_watched_alone)(tmp_path, linked)


async def _a_file_is_watched_alone(folder, linked):
    target = folder / "target"
    target.write_text("x")
    root = target
    if linked:
        root = folder / "link"
        root.symlink_to(target)
    watch_, batches = await watch(root, watcher=watching(pace=EAGER))
    (folder / "beside").write_text("x")
    target.write_text("y")
    await batches.until_said(("updated", ""))
    batches.said.clear()
    (folder / "draft").write_text("z")
    (folder / "draft").replace(target)
    await batches.until_said(("updated", ""))
    batches.said.clear()
    target.write_text("watched as it is now")
    await batches.until_said(("updated", ""))
    batches.said.clear()
    target.unlink()
    await batches.until_said(("deleted", ""))
    target.write_text("again")
    await batches.until_said(("added", ""))
    assert {path for _, path in batches.all} == {""}
    await watch_.release()


@linux
@watched
async def test_a_root_that_goes_and_comes_back_is_watched_on(root):
    (root / "file").write_text("x")
    watch_, batches = await watch(root, watcher=watching(pace=EAGER))
    shutil.rmtree(root)
    await batches.until_said(("deleted", ""))
    assert batches.said[-1] == [("deleted", "file"), ("deleted", "")]
    batches.said.clear()
    root.mkdir()
    await batches.until_said(("added", ""))
    (root / "new").write_text("x")
    await batches.until_said(("added", "new"))
    batches.said.clear()
    root.rename(root.parent / "elsewhere")
    await batches.until_said(("deleted", "new"), ("deleted", ""))
    await watch_.release()


@linux
@watched
async def test_a_root_under_a_folder_that_moves_is_gone(root):
    inner = root / "inner"
    inner.mkdir()
    (inner / "file").write_text("x")
    watch_, batches = await watch(inner, watcher=watching(pace=EAGER))
    root.rename(root.parent / "elsewhere")
    await batches.until_said(("deleted", "file"), ("deleted", ""))
    await watch_.release()


@linux
@watched
async def test_links_are_followed_at_the_root_and_nowhere_below(root):
    (root / "real").mkdir()
    (root / "real" / "up").symlink_to(root)
    link = root.parent / "link"
    link.symlink_to(root / "real")
    watch_, batches = await watch(link)
    (root / "real" / "file").write_text("x")
    (root / "outside").write_text("x")
    await batches.until_said(("added", "file"))
    assert batches.said == [[("added", "file")]]
    batches.said.clear()
    (root / "real" / "up").unlink()
    await batches.until_said(("deleted", "up"))
    assert batches.said == [[("deleted", "up")]]
    await watch_.release()


@linux
@watched
async def test_names_that_are_no_utf8_are_told_of_byte_for_byte(root):
    watch_, batches = await watch(root)
    (root / os.fsdecode(b"caf\xe9 \n%")).write_text("x")
    await batches.until_said(("added", "caf%E9%20%0A%25"))
    await watch_.release()


@linux
@watched
async def test_excluded_folders_are_neither_looked_into_nor_listened_to(root):
    for folder in ("src/deep", "node_modules/pkg/lib", "pkg/node_modules/x", ".git/objects"):
        (root / folder).mkdir(parents=True)
    watcher = watching()
    watch_, batches = await watch(
        root, watcher=watcher, excludes=("**/node_modules/**", ".git", "**/*.log")
    )
    listened = len(watcher._inotify._places)
    assert listened == 4  # the root, src, src/deep and pkg
    (root / "node_modules" / "pkg" / "file").write_text("x")
    (root / ".git" / "HEAD").write_text("x")
    (root / "src" / "a.log").write_text("x")
    (root / "src" / "a.py").write_text("x")
    await batches.until_said(("added", "src/a.py"))
    assert batches.said == [[("added", "src/a.py")]]
    batches.said.clear()
    (root / "new" / "node_modules" / "x").mkdir(parents=True)
    await batches.until_said(("added", "new"))
    assert batches.said == [[("added", "new")]]
    assert len(watcher._inotify._places) == listened + 1
    await watch_.release()


@linux
@watched
async def test_includes_tell_of_nothing_else_and_look_nowhere_else(root):
    for folder in ("src/deep", "docs/old", "other/deep"):
        (root / folder).mkdir(parents=True)
    watcher = watching()
    watch_, batches = await watch(root, watcher=watcher, includes=("src/**/*.py", "docs"))
    assert len(watcher._inotify._places) == 5  # the root, src, src/deep, docs, docs/old
    (root / "src" / "deep" / "a.py").write_text("x")
    (root / "src" / "deep" / "a.txt").write_text("x")
    (root / "docs" / "old" / "any").write_text("x")
    (root / "other" / "b.py").write_text("x")
    await batches.until_said(("added", "src/deep/a.py"))
    assert batches.said == [[("added", "docs/old/any"), ("added", "src/deep/a.py")]]
    await watch_.release()


@linux
@watched
async def test_what_is_made_while_a_folder_is_first_looked_into_is_not_missed(root):
    watch_, batches = await watch(root, watcher=watching(pace=EAGER))

    def make():
        for number in range(300):
            folder = root / f"d{number}" / "e" / "f"
            folder.mkdir(parents=True)
            (folder / "file").write_text("x")
            if number % 3 == 0:
                (root / f"d{number}").rename(root / f"m{number}")

    await in_thread(reactor)(make)
    now = listing(root)
    await batches.until(lambda: _adds_up(batches, {"": True}, now))
    await watch_.release()


@linux
@watched
async def test_a_storm_of_renames_adds_up(root):
    for number in range(50):
        (root / f"d{number % 5}").mkdir(exist_ok=True)
        (root / f"d{number % 5}" / f"f{number}").write_text("x")
    held = listing(root)
    watch_, batches = await watch(root, watcher=watching(pace=EAGER))

    def rename():
        chosen = random.Random(7)
        for _ in range(3000):
            folders = [each for each in root.iterdir() if each.is_dir()]
            source = chosen.choice(folders)
            if chosen.random() < 0.1:
                source.rename(root / f"d{chosen.randrange(10_000)}")
            else:
                for file in list(source.iterdir())[:1]:
                    file.rename(chosen.choice(folders) / f"f{chosen.randrange(60)}")

    await in_thread(reactor)(rename)
    now = listing(root)
    await batches.until(lambda: _adds_up(batches, held, now))
    await watch_.release()


@linux
@pytest.mark.long
@watched
async def test_a_hundred_thousand_files_are_watched(root):
    def make():
        for number in range(10_000):
            folder = root / f"d{number % 100}" / f"e{number}"
            folder.mkdir(parents=True)
            for name in range(10):
                (folder / f"f{name}").touch()

    await in_thread(reactor)(make)
    held = listing(root)
    watch_, batches = await watch(root, watcher=watching(pace=EAGER))

    def change():
        for number in range(10_000):
            (root / f"d{number % 100}" / f"e{number}" / "f0").write_text("x")
        for number in range(50):
            shutil.rmtree(root / f"d{number}")

    await in_thread(reactor)(change)
    now = listing(root)
    await batches.until(lambda: _adds_up(batches, held, now))
    kept = {path for change_, path in batches.all if change_ == "updated"} & now.keys()
    assert len(kept) == 5000
    await watch_.release()


def _adds_up(batches, held, now):
    return folded(held, batches.all, now) == now


@linux
@watched
async def test_ten_thousand_changes_are_one_batch(root):
    for number in range(100):
        (root / f"d{number}").mkdir()
    pace = Pace(quiet=1.0, longest=60.0, between=3600.0)
    watch_, batches = await watch(root, watcher=watching(pace=pace))

    def make():
        for number in range(10_000):
            (root / f"d{number % 100}" / f"f{number}").write_text("x")

    await in_thread(reactor)(make)
    await batches.until(lambda: len(batches.all) >= 10_000)
    assert [len(batch) for batch in batches.said] == [10_000]
    await watch_.release()


@linux
@watched
async def test_a_burst_that_does_not_end_is_told_of_meanwhile(root):
    pace = Pace(quiet=5.0, longest=0.2, between=3600.0)
    watch_, batches = await watch(root, watcher=watching(pace=pace))
    count = 0

    def more():
        nonlocal count
        count += 1
        (root / f"f{count}").write_text("x")
        return reactor.callLater(0.02, more)

    calls = [more()]
    await batches.until(lambda: len(batches.said) >= 2)
    for call in reactor.getDelayedCalls():
        if call.func is more:
            call.cancel()
    assert calls
    await watch_.release()


# -- what goes wrong ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("root", "code", "words"),
    [
        ("file:///nowhere/at/all", -32008, "Resource not found: file:///nowhere/at/all"),
        ("file:///etc/passwd/x", -32008, "Resource not found: file:///etc/passwd/x"),
        ("file://elsewhere/tmp", -32602, "names a file of another machine"),
        ("file:relative", -32602, "names no absolute path"),
        ("file:///a%00b", -32602, "NUL"),
        ("file:///" + "a" * 5000, -32008, "Resource not found"),
    ],
)
def test_a_root_that_cannot_be_watched_is_refused(root, code, words):
    @pytest_twisted.ensureDeferred
    async def run():
        found, message = await failing(watching().watch(WatchRequest(root=root), print))
        assert found == code
        assert words in message

    return run()


@linux
@watched
async def test_a_pattern_nobody_can_read_is_refused(root):
    request = WatchRequest(root=uri_of(root), excludes=("{a",))
    code, words = await failing(watching().watch(request, print))
    assert code == -32602
    assert "'{a'" in words


@linux
@watched
async def test_more_than_a_watch_may_hold_is_refused_and_leaves_nothing(root):
    for number in range(20):
        (root / f"f{number}").write_text("x")
    watcher = watching(most=10)
    code, words = await failing(watcher.watch(WatchRequest(root=uri_of(root)), print))
    assert code == -32603
    assert "more than 10 files and folders" in words
    assert watcher._inotify is None


@linux
@watched
async def test_more_than_all_watches_may_hold_is_refused_until_another_lets_go(root):
    for number in range(20):
        (root / f"f{number}").write_text("x")
    watcher = watching(together=30)
    first = await watcher.watch(WatchRequest(root=uri_of(root)), print)
    for _ in range(2):
        code, words = await failing(watcher.watch(WatchRequest(root=uri_of(root)), print))
        assert code == -32603
        assert "watches hold 30 files and folders" in words
    await first.release()
    second = await watcher.watch(WatchRequest(root=uri_of(root)), print)
    await second.release()
    assert watcher._room._left == 30


class Limited(INotify):
    """An instance that has room for so many watches."""

    room = 0

    def add_watch(self, path, mask):
        if self.room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        type(self).room -= 1
        return super().add_watch(path, mask)


@linux
@pytest.mark.logs_failures
def test_a_machine_with_no_room_for_a_watch_says_which_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(hints_module, "INotify", Limited)
    monkeypatch.setattr(Limited, "room", 1)
    (tmp_path / "folder").mkdir()

    @pytest_twisted.ensureDeferred
    async def run():
        watcher = watching()
        request = WatchRequest(root=uri_of(tmp_path), recursive=True)
        code, words = await failing(watcher.watch(request, print))
        assert code == -32603
        assert "fs.inotify.max_user_watches = " in words
        assert "sysctl" in words
        assert watcher._inotify is None
        monkeypatch.setattr(Limited, "room", 2)
        watch_, batches = await watch(tmp_path, watcher=watcher)
        (tmp_path / "folder" / "file").write_text("x")
        await batches.until_said(("added", "folder/file"))
        await watch_.release()

    return run()


@linux
@pytest.mark.logs_failures
def test_a_machine_with_no_instance_left_says_which_limit(tmp_path, monkeypatch):
    def none_left(**options):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(hints_module, "INotify", none_left)

    @pytest_twisted.ensureDeferred
    async def run():
        code, words = await failing(watching().watch(WatchRequest(root=uri_of(tmp_path)), print))
        assert code == -32603
        assert "fs.inotify.max_user_instances = " in words

    return run()


@linux
def test_a_limit_that_is_met_later_has_folders_looked_at_instead(tmp_path, monkeypatch):
    monkeypatch.setattr(hints_module, "INotify", Limited)
    monkeypatch.setattr(Limited, "room", 1)

    @pytest_twisted.ensureDeferred
    async def run():
        watch_, batches = await watch(tmp_path, watcher=watching(pace=EAGER))
        (tmp_path / "new" / "deep").mkdir(parents=True)
        await batches.until_said(("added", "new/deep"))
        (tmp_path / "new" / "deep" / "file").write_text("x")
        await batches.until_said(("added", "new/deep/file"))
        (tmp_path / "new" / "deep" / "file").write_text("longer")
        await batches.until_said(("updated", "new/deep/file"))
        monkeypatch.setattr(Limited, "room", 100)
        (tmp_path / "new" / "other").write_text("x")
        await batches.until_said(("added", "new/other"))
        shutil.rmtree(tmp_path / "new")
        await batches.until_said(("deleted", "new"))
        assert not watch_._tree._unheard
        await watch_.release()

    return run()


@linux
@watched
async def test_when_hints_were_lost_everything_is_looked_at(root):
    (root / "sub").mkdir()
    (root / "sub" / "file").write_text("x")
    watcher = watching()
    watch_, batches = await watch(root, watcher=watcher)
    monkeypatch = pytest.MonkeyPatch()
    overflow = (-1).to_bytes(4, sys.byteorder, signed=True) + (0x4000).to_bytes(4, sys.byteorder)
    real = os.read
    fd = watcher._inotify.fileno()

    def read(which, size):
        if which != fd:
            return real(which, size)
        real(which, size)
        return overflow + bytes(8)

    monkeypatch.setattr(os, "read", read)
    try:
        (root / "sub" / "file").write_text("changed")
        (root / "sub" / "new").mkdir()
        await batches.until_said(("added", "sub/new"), ("updated", "sub/file"))
    finally:
        monkeypatch.undo()
    batches.said.clear()
    (root / "sub" / "new" / "file").write_text("x")
    await batches.until_said(("added", "sub/new/file"))
    await watch_.release()


@linux
@watched
async def test_two_watches_of_one_folder_share_what_listens(root):
    (root / "sub").mkdir()
    watcher = watching()
    one, first = await watch(root, watcher=watcher)
    two, second = await watch(root / "sub", watcher=watcher)
    assert len(watcher._inotify._places) == 2
    (root / "sub" / "file").write_text("x")
    await first.until_said(("added", "sub/file"))
    await second.until_said(("added", "file"))
    await one.release()
    (root / "sub" / "other").write_text("x")
    await second.until_said(("added", "other"))
    assert ("added", "sub/other") not in first.all
    await two.release()
    await two.release()
    assert watcher._inotify is None
    assert not watcher._watches


@linux
@watched
async def test_nothing_is_told_after_the_release(root):
    watch_, batches = await watch(root)
    (root / "file").write_text("x")
    done = watch_.release()
    (root / "other").write_text("x")
    await done
    assert batches.said == []
    assert [
        each for each in reactor.getDelayedCalls() if each.func.__qualname__.startswith("FileWatch")
    ] == []


@linux
@pytest.mark.logs_failures
@watched
async def test_a_listener_that_fails_costs_no_later_batch(root):
    batches = Batches(root)

    def failing_first(changes):
        batches(changes)
        if len(batches.said) == 1:
            raise ValueError("a listener failed")

    watch_ = await watching().watch(WatchRequest(root=uri_of(root)), failing_first)
    (root / "one").write_text("x")
    await batches.until_said(("added", "one"))
    (root / "two").write_text("x")
    await batches.until_said(("added", "two"))
    await watch_.release()


# -- on a clock: nobody tells of anything, and everything is looked at -----------------


def on_a_clock(root, **options):
    clock = Clock()
    watcher = FileWatcher(in_thread(clock), clock, clock, **options)
    batches, results = Batches(root), []
    request = WatchRequest(root=uri_of(root), recursive=True)
    Deferred.fromCoroutine(watcher.watch(request, batches)).addBoth(results.append)
    return clock, results[0], batches


def test_without_hints_the_files_are_looked_at_every_few_seconds(tmp_path, monkeypatch):
    later = time.time_ns() + 10**10  # what was written a moment ago may be told of twice
    monkeypatch.setattr(marks, "time", SimpleNamespace(time_ns=lambda: later))
    (tmp_path / "file").write_text("x")
    clock, watch_, batches = on_a_clock(tmp_path)
    (tmp_path / "file").write_text("another")
    (tmp_path / "new").mkdir()
    clock.advance(1.9)
    assert batches.said == []
    clock.advance(0.2)
    assert batches.said == [[("added", "new"), ("updated", "file")]]
    clock.advance(60)
    assert len(batches.said) == 1
    watch_.release()
    assert clock.getDelayedCalls() == []


@pytest.mark.logs_failures
def test_a_look_that_fails_is_made_up_for_by_the_next(tmp_path, monkeypatch):
    clock, watch_, batches = on_a_clock(tmp_path)
    (tmp_path / "new").write_text("x")
    look, fails = watch_._tree.look, [True]

    def failing_once(touched, **options):
        if fails:
            fails.clear()
            raise RuntimeError("a disk failed")
        assert options["everything"]
        return look(touched, **options)

    monkeypatch.setattr(watch_._tree, "look", failing_once)
    clock.advance(2)
    assert batches.said == []
    clock.advance(2)
    assert batches.said == [[("added", "new")]]
    watch_.release()


def test_more_changes_than_a_batch_holds_are_several(tmp_path, monkeypatch):
    clock, watch_, batches = on_a_clock(tmp_path)
    uri = uri_of(tmp_path)
    many = [{"uri": f"{uri}/{n}", "type": "added"} for n in range(MOST_IN_A_BATCH + 1)]
    monkeypatch.setattr(watch_._tree, "look", lambda touched, **options: many)
    clock.advance(2)
    assert [len(batch) for batch in batches.said] == [MOST_IN_A_BATCH, 1]
    watch_.release()
