"""Whatever happens to files, what is said adds up to what is there."""

import errno
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.logger import capturedLogs, formatEvent

from ahpd.protocol.globs import WatchFilter
from ahpd.resources.watching import tree as tree_module
from ahpd.resources.watching.changes import Changes, Kind
from ahpd.resources.watching.hints import Inotify, NoHints
from ahpd.resources.watching.tree import Tree
from tests.watches.conftest import Driven, NoReactor, folded, listing, uri_of

NAMES = ["a", "b", "sub", "new", "caf\udce9"]

paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
operations = st.one_of(
    st.tuples(st.just("write"), paths),
    st.tuples(st.just("append"), paths),
    st.tuples(st.just("atomic save"), paths),
    st.tuples(st.just("mkdir"), paths),
    st.tuples(st.just("remove"), paths),
    st.tuples(st.just("chmod"), paths),
    st.tuples(st.just("link"), paths),
    st.tuples(st.just("rename"), paths, paths),
    st.tuples(st.just("exchange"), paths, paths),
    st.tuples(st.just("move out"), paths),
    st.tuples(st.just("move in"), paths),
    st.tuples(
        st.just("root goes"),
    ),
    st.tuples(
        st.just("root comes"),
    ),
    st.tuples(
        st.just("hear"),
    ),
    st.tuples(
        st.just("look"),
    ),
)
bursts = st.lists(st.lists(operations, max_size=12), min_size=1, max_size=5)


class Place:
    """A root with a folder beside it, and what a burst may do to them. What fails does nothing."""

    def __init__(self, folder):
        self.root = Path(folder) / "root"
        self.beside = Path(folder) / "beside"
        self.count = 0
        self.root.mkdir()
        self.beside.mkdir()
        (self.root / "sub" / "b").mkdir(parents=True)
        (self.root / "sub" / "a").write_text("first")
        self.written = set()

    def do(self, what, *arguments):
        self.count += 1
        try:
            getattr(self, what.replace(" ", "_"))(*(self.root / each for each in arguments))
        except (OSError, shutil.Error):
            return

    def write(self, path):
        path.write_text(f"{self.count}")
        self.written.add(os.path.relpath(path, self.root))

    def append(self, path):
        with path.open("a") as file:
            file.write(f"{self.count}")
        self.written.add(os.path.relpath(path, self.root))

    def atomic_save(self, path):
        beside = path.with_name(path.name + "~")
        beside.write_text(f"{self.count}")
        try:
            beside.replace(path)
        except OSError:
            beside.unlink()

    def mkdir(self, path):
        path.mkdir(parents=True)
        (path / "inside").write_text("x")

    def remove(self, path):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()

    def chmod(self, path):
        if not path.is_symlink():
            path.chmod(0o755 if self.count % 2 else 0o700)

    def link(self, path):
        path.symlink_to(self.root)

    def rename(self, source, target):
        source.replace(target)

    def exchange(self, one, other):
        between = self.root / "between"
        one.rename(between)
        try:
            other.rename(one)
        finally:
            between.rename(other)

    def move_out(self, path):
        path.rename(self.beside / str(self.count))

    def move_in(self, path):
        for found in sorted(self.beside.iterdir()):
            found.rename(path)
            return
        made = self.beside / "made"
        (made / "deep" / "er").mkdir(parents=True)
        (made / "deep" / "file").write_text("x")
        made.rename(path)

    def root_goes(self):
        if self.count % 2:
            shutil.rmtree(self.root)
        else:
            self.root.rename(self.beside / str(self.count))

    def root_comes(self):
        self.root.mkdir()
        (self.root / "new").write_text("x")


#: Whether a watch is recursive, what it includes and what it excludes.
WHOLE = (True, None, ())
SCOPES = [
    WHOLE,
    (False, None, ()),
    (True, None, ("sub",)),
    (True, None, ("**/a", "new/*")),
    (True, ("**/b",), ()),
    (True, ("sub/**", "a"), ("**/new",)),
    (False, ("[ab]",), ()),
]


def tree_of(place, hints, scope=WHOLE):
    recursive, includes, excludes = scope
    return Tree(
        str(place.root), uri_of(place.root), recursive, WatchFilter(includes, excludes), hints
    )


def in_scope(found, scope):
    """What a watch of this scope tells of: said once more, the long way round."""
    recursive, includes, excludes = scope
    included, excluded = WatchFilter(includes), WatchFilter(excludes=excludes)

    def told(path):
        above = path.split("/")
        parents = ["/".join(above[:length]) for length in range(1, len(above) + 1)]
        if not recursive and len(above) > 1:
            return False
        return included.reports(path) and all(map(excluded.reports, parents))

    return {path: folder for path, folder in found.items() if path == "" or told(path)}


def marks(root):
    """What tells whether a file was written to, by path."""
    found = {}
    for path, is_folder in listing(root).items():
        if not is_folder:
            status = (root / path).lstat()
            found[path] = status.st_ino, status.st_mtime_ns, status.st_size
    return found


def check_bursts(bursts, driven, place, scope=WHOLE, **options):
    held = in_scope(listing(place.root), scope)
    for burst in bursts:
        before, was = dict(held), marks(place.root)
        said = []
        for what, *arguments in burst:
            if what == "hear":
                driven.hear()
            elif what == "look":
                said += driven.look()
            else:
                place.do(what, *arguments)
        said += driven.look(**options)
        now = in_scope(listing(place.root), scope)
        held = folded(held, said, now)
        assert held == now
        changes = {}
        for change, path in said:
            changes.setdefault(path, []).append(change)
        for path, is_folder in now.items():
            if path in before and before[path] is not is_folder:
                assert "deleted" in changes[path], f"{path} is another kind of thing"
        for path, mark in marks(place.root).items():
            if path in now and path in was and was[path] != mark:
                assert path in changes, f"{path} is not what it was"


linux = pytest.mark.skipif(sys.platform != "linux", reason="there is no inotify")


@linux
@settings(max_examples=150, deadline=None)
@given(bursts, st.sampled_from(SCOPES))
def test_what_is_said_adds_up_to_what_is_there(bursts, scope):
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder)
        hints = Inotify(NoReactor(), lambda: None)
        driven = Driven(tree_of(place, hints, scope), hints)
        try:
            check_bursts(bursts, driven, place, scope, unheard=True)
        finally:
            driven.tree.close()
            assert hints._places == {}
            assert driven.tree._size == 0
            hints.close()


@linux
@settings(max_examples=60, deadline=None)
@given(bursts)
def test_hints_that_are_lost_cost_nothing_but_a_look(bursts):
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder)
        hints = Inotify(NoReactor(), lambda: None)
        driven = Driven(tree_of(place, hints), hints)
        driven.tree.touched = lambda folder, name, anew: None
        try:
            check_bursts(bursts, driven, place, everything=True)
        finally:
            driven.tree.close()
            hints.close()


@settings(max_examples=60, deadline=None)
@given(bursts)
def test_where_nobody_tells_of_anything_looking_is_enough(bursts):
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder)
        driven = Driven(tree_of(place, NoHints()), NoHints())
        try:
            check_bursts(bursts, driven, place, unheard=True)
        finally:
            driven.tree.close()


@linux
def test_a_queue_that_runs_over_says_so_and_everything_is_looked_at(tmp_path):
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 50_000:
        pytest.skip("the kernel's queue is too long to be filled")
    place, lost = Place(tmp_path), []
    hints = Inotify(NoReactor(), lambda: lost.append(True))
    driven = Driven(tree_of(place, hints), hints)
    held = listing(place.root)
    for number in range(most // 2):
        (place.root / "sub" / f"f{number}").touch()  # two things to tell, or three
    (place.root / "late" / "deep").mkdir(parents=True)
    (place.root / "sub" / "a").write_text("changed")
    hints.doRead()
    while not lost:
        hints.doRead()
    said = driven.look(everything=True)
    now = listing(place.root)
    assert folded(held, said, now) == now
    assert ("updated", "sub/a") in said
    assert len(lost) == 1
    driven.tree.close()
    hints.close()


def test_a_folder_that_could_not_be_read_is_not_taken_for_empty(tmp_path, monkeypatch):
    place = Place(tmp_path)
    driven = Driven(tree_of(place, NoHints()), NoHints())
    real = tree_module.seen_in

    def failing(path, **options):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(tree_module, "seen_in", failing)
    (place.root / "sub" / "new").write_text("x")
    assert driven.look(unheard=True) == []
    monkeypatch.setattr(tree_module, "seen_in", real)
    assert ("added", "sub/new") in driven.look(unheard=True)
    driven.tree.close()


def test_a_folder_that_cannot_be_read_at_the_start_costs_itself_alone(tmp_path, monkeypatch):
    place = Place(tmp_path)
    real, broken = tree_module.seen_in, [str(place.root / "sub")]

    def failing(path, **options):
        if path in broken:
            raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")
        return real(path, **options)

    monkeypatch.setattr(tree_module, "seen_in", failing)
    with capturedLogs() as logged:
        driven = Driven(tree_of(place, NoHints()), NoHints())
        (place.root / "new").write_text("x")
        assert ("added", "new") in driven.look(unheard=True)
        driven.look(unheard=True)
    assert [formatEvent(event) for event in logged] == [
        f"{place.root / 'sub'} could not be read, and is tried again every few seconds: "
        "Transport endpoint is not connected"
    ]
    broken.clear()
    assert ("added", "sub/a") in driven.look(unheard=True)
    driven.tree.close()


@pytest.mark.parametrize(("where", "number"), [("", errno.EIO), ("sub", errno.EMFILE)])
def test_a_start_ends_where_the_root_or_anything_at_all_cannot_be_read(
    tmp_path, monkeypatch, where, number
):
    place = Place(tmp_path)
    real, broken = tree_module.seen_in, str(place.root / where)

    def failing(path, **options):
        if path == broken:
            raise OSError(number, "broken")
        return real(path, **options)

    monkeypatch.setattr(tree_module, "seen_in", failing)
    tree = tree_of(place, NoHints())
    with pytest.raises(OSError, match="broken"):
        tree.start()
    tree.close()


def test_past_what_a_watch_may_hold_the_rest_is_watched_on(tmp_path):
    place = Place(tmp_path)
    tree = Tree(str(place.root), uri_of(place.root), True, WatchFilter(), NoHints(), most=5)
    driven = Driven(tree, NoHints())
    for number in range(5):
        (place.root / f"f{number}").write_text("x")
    added = [path for change, path in driven.look(unheard=True) if change == "added"]
    assert len(added) == 1
    shutil.rmtree(place.root / "sub")
    assert ("deleted", "sub") in driven.look(unheard=True)
    driven.look(unheard=True)
    assert len(driven.tree._top.entries[""].entries) == 4
    driven.tree.close()
    assert tree._room._left == 5


@linux
def test_a_folder_closed_to_us_is_left_out_until_it_is_opened(tmp_path, monkeypatch):
    place = Place(tmp_path)
    hints = Inotify(NoReactor(), lambda: None)
    add, closed = hints.add, [str(place.root / "sub")]

    def denied(path, held, **options):
        if path in closed:
            raise OSError(errno.EACCES, "Permission denied")
        add(path, held, **options)

    monkeypatch.setattr(hints, "add", denied)
    driven = Driven(tree_of(place, hints), hints)
    (place.root / "sub" / "new").write_text("x")
    assert driven.look() == []
    closed.clear()
    (place.root / "sub").chmod(0o711)
    assert driven.look() == [
        ("added", "sub/a"),
        ("added", "sub/b"),
        ("added", "sub/new"),
        ("updated", "sub"),
    ]
    driven.tree.close()
    hints.close()


@linux
def test_a_root_that_is_listened_to_no_more_is_found_out_at_the_next_look(tmp_path):
    place = Place(tmp_path)
    hints = Inotify(NoReactor(), lambda: None)
    driven = Driven(tree_of(place, hints), hints)
    hints.drop(driven.tree._top.entries[""])
    driven.look()
    (place.root / "new").mkdir()
    assert driven.look() == []
    assert ("added", "new") in driven.look(unheard=True)
    (place.root / "newer").mkdir()
    assert driven.look() == [("added", "newer")]
    driven.tree.close()
    hints.close()


FILE, FOLDER = Kind.FILE, Kind.FOLDER


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        ([(None, FILE)], ["added"]),
        ([(FILE, None)], ["deleted"]),
        ([(FILE, FILE)], ["updated"]),
        ([(FOLDER, FOLDER)], ["updated"]),
        ([(None, FILE), (FILE, FILE)], ["added"]),
        ([(None, FILE), (FILE, None)], []),
        ([(None, FILE), (FILE, None), (None, FILE)], ["added"]),
        ([(FILE, None), (None, FILE)], ["updated"]),
        ([(FILE, FILE), (FILE, None)], ["deleted"]),
        ([(FILE, None), (None, FOLDER)], ["deleted", "added"]),
        ([(FILE, None), (None, FOLDER), (FOLDER, None)], ["deleted"]),
        ([(FILE, None), (None, FOLDER), (FOLDER, None), (None, FILE)], ["updated"]),
        ([(None, FOLDER), (FOLDER, None), (None, FILE)], ["added"]),
    ],
)
def test_what_is_said_of_one_name_is_what_all_that_happened_came_to(notes, said):
    changes = Changes()
    for before, now in notes:
        changes.note("a", before, now)
    assert [each["type"] for each in changes.take(str)] == said
    assert changes.take(str) == []


def test_changes_are_said_so_that_no_folder_comes_after_what_is_in_it():
    changes = Changes()
    for path in ("b/c/d", "b", "b-", "b/c"):
        changes.note(path, None, FILE)
    for path in ("x/y", "x"):
        changes.note(path, FILE, None)
    assert [each["uri"] for each in changes.take(str)] == ["x/y", "x", "b", "b-", "b/c", "b/c/d"]
