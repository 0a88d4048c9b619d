"""Whatever happens to files, what is said adds up to what is there."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ahpd.protocol.globs import WatchFilter
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


def tree_of(place, hints):
    return Tree(str(place.root), uri_of(place.root), True, WatchFilter(), hints)


def marks(root):
    """What tells whether a file was written to, by path."""
    found = {}
    for path, is_folder in listing(root).items():
        if not is_folder:
            status = (root / path).lstat()
            found[path] = status.st_ino, status.st_mtime_ns, status.st_size
    return found


def check_bursts(bursts, driven, place, **options):
    held = listing(place.root)
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
        now = listing(place.root)
        held = folded(held, said, now)
        assert held == now
        changes = {}
        for change, path in said:
            changes.setdefault(path, []).append(change)
        for path, is_folder in now.items():
            if path in before and before[path] is not is_folder:
                assert "deleted" in changes[path], f"{path} is another kind of thing"
        for path, mark in marks(place.root).items():
            if path in was and was[path] != mark:
                assert path in changes, f"{path} is not what it was"


linux = pytest.mark.skipif(sys.platform != "linux", reason="there is no inotify")


@linux
@settings(max_examples=150, deadline=None)
@given(bursts)
def test_what_is_said_adds_up_to_what_is_there(bursts):
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder)
        hints = Inotify(NoReactor(), lambda: None)
        driven = Driven(tree_of(place, hints), hints)
        try:
            check_bursts(bursts, driven, place, unheard=True)
        finally:
            driven.tree.close()
            assert hints._places == {}
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
