"""Links swapped in between a check and its use: nothing outside of what was named is touched."""

# The system's own calls are what is spoken of here.
# ruff: noqa: PTH104, PTH108, PTH208, PTH211

import contextlib
import itertools
import os
import threading
from pathlib import Path

import pytest

from ahpd.interfaces import RpcError

#: The calls of the system an operation is made of.
CALLS = (
    "open", "close", "stat", "lstat", "fstat", "access", "read", "write", "pread", "fsync", "link",
    "copy_file_range", "rename", "unlink", "rmdir", "mkdir", "listdir", "scandir", "readlink",
    "symlink", "ftruncate", "fchmod", "fchown", "dup", "utime", "posix_fallocate",
)  # fmt: skip


class Ground:
    """A tree that is worked on, and a folder outside that must stay as it is."""

    def __init__(self, files):
        self.files = files
        self.top = Path(files.root, "tree")
        self.outside = Path(files.root, "outside")
        self.outside.mkdir()
        (self.outside / "f").write_text("secret")
        (self.outside / "deep").mkdir()
        (self.outside / "deep" / "g").write_text("secret")
        self.before = self.look()

    def look(self):
        found = {}
        for path in [self.outside, *sorted(self.outside.rglob("*"))]:
            info = path.lstat()
            content = path.read_bytes() if path.is_file() else None
            found[str(path)] = (info.st_ino, info.st_mode, info.st_mtime_ns, info.st_nlink, content)
        return found

    def prepare(self):
        root = Path(self.files.root)
        for name in os.listdir(root):
            if name != "outside":
                self.files.delete(name, recursive=True)
        (self.top / "sub" / "deep").mkdir(parents=True)
        for name in ("f", "other", "sub/f", "sub/deep/g"):
            (self.top / name).write_text("inside")
        (self.top / "linked").write_text("inside")
        os.link(self.top / "linked", root / "second")

    def check(self):
        assert self.look() == self.before


def swap_for_link(path, target):
    """Have a link be where `path` was, which is moved out of the way, if it is there yet."""

    def swap():
        with contextlib.suppress(FileNotFoundError):
            os.rename(path, f"{path}.away")
            os.symlink(target, path)

    return swap


def put_link(path, target):
    """Have a link be where nothing was."""

    def swap():
        with contextlib.suppress(FileExistsError):
            os.symlink(target, path)

    return swap


@pytest.fixture
def files(quick_folder, files_under):
    return files_under(quick_folder)


@pytest.fixture
def ground(files):
    return Ground(files)


def at_every_step(ground, work, swap, ready=lambda: None):
    """Do `work` again and again, with `swap` before its first, second, ... call of the system."""
    real = {name: getattr(os, name) for name in CALLS if hasattr(os, name)}
    for point in itertools.count(1):
        ground.prepare()
        ready()
        calls = itertools.count(1)
        reached = []
        here = threading.get_ident()

        def hooked(call):
            def hook(*arguments, **more):
                if threading.get_ident() == here and next(calls) == point:  # noqa: B023
                    reached.append(point)  # noqa: B023
                    swap()
                return call(*arguments, **more)

            return hook

        with pytest.MonkeyPatch.context() as patched:
            for name, call in real.items():
                patched.setattr(os, name, hooked(call))
            with contextlib.suppress(RpcError):
                work()
        ground.check()
        yield point
        if not reached:
            return


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"mode": "insert", "position": 1},
        {"position": 1},
        {"mode": "append"},
        {"mode": "append", "position": 1},
        {"createOnly": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["f", "linked", "new"])
def test_a_file_swapped_for_a_link_is_not_written_through(ground, more, name):
    swap = swap_for_link(ground.top / name, ground.outside / "f")
    if name == "new":
        swap = put_link(ground.top / "new", ground.outside / "f")
    steps = list(
        at_every_step(ground, lambda: ground.files.write(f"tree/{name}", "x" * 9, **more), swap)
    )
    assert len(steps) > 4


@pytest.mark.parametrize("to", ["f", "deep"])
@pytest.mark.parametrize("act", ["copy", "move"])
@pytest.mark.parametrize("new", [True, False])
def test_a_destination_swapped_for_a_link_is_not_written_through(ground, act, new, to):
    def work():
        getattr(ground.files, act)("tree/other", "tree/new" if new else "tree/f", new)

    swap = swap_for_link(ground.top / "f", ground.outside / to)
    if new:
        swap = put_link(ground.top / "new", ground.outside / to)
    assert len(list(at_every_step(ground, work, swap))) > 5


@pytest.mark.parametrize("inner", ["sub", "sub/deep", "sub/f"])
def test_what_is_swapped_for_a_link_while_its_tree_is_deleted_leads_nowhere(ground, inner):
    swap = swap_for_link(ground.top / inner, ground.outside)
    steps = at_every_step(ground, lambda: ground.files.delete("tree", recursive=True), swap)
    assert len(list(steps)) > 10


@pytest.mark.parametrize("inner", ["", "/sub", "/sub/deep", "/sub/f"])
@pytest.mark.parametrize("act", ["copy", "move"])
def test_what_is_swapped_for_a_link_while_its_tree_is_copied_is_not_seen_through(
    ground, inner, act, monkeypatch
):
    if act == "move":  # between file systems
        monkeypatch.setattr("ahpd.resources.files.moving.put_over", too_far)
    top = f"{ground.top}{inner}"
    leads_to = ground.outside / "f" if inner == "/sub/f" else ground.outside
    swap = swap_for_link(top, leads_to)

    def work():
        getattr(ground.files, act)("tree", "copy")

    for _ in at_every_step(ground, work, swap):
        copied = Path(ground.files.root, "copy")
        if copied.is_dir() and not copied.is_symlink():
            for folder, _, names in os.walk(copied):
                for name in names:
                    path = Path(folder, name)
                    assert path.is_symlink() or path.read_text() != "secret"


@pytest.fixture(autouse=True)
def no_disk(monkeypatch):
    """Nothing here is about what is on disk, and waiting for it takes most of the time."""
    for name in ("sync", "fsync"):
        monkeypatch.setattr(os, name, lambda *_: None)


def too_far(*arguments):
    raise OSError(18, "far away")


def test_a_folder_moved_out_of_the_tree_while_it_is_deleted_is_not_followed(ground):
    """What `..` of a folder is may change: the way back is checked."""
    away = ground.outside / "moved"

    def swap():
        os.rename(ground.top / "sub" / "deep", away)

    with pytest.MonkeyPatch.context() as patched:
        listdir, done = os.listdir, []

        def meanwhile(folder):
            names = listdir(folder)
            if names == ["g"] and not done:
                done.append(swap())
            return names

        ground.prepare()
        patched.setattr(os, "listdir", meanwhile)
        with pytest.raises(RpcError) as caught:
            ground.files.delete("tree", recursive=True)
    assert caught.value.code == -32603
    assert done
    away.rmdir()
    assert {path: (found[0], found[-1]) for path, found in ground.look().items()} == {
        path: (found[0], found[-1]) for path, found in ground.before.items()
    }


def test_the_folder_a_write_began_in_is_the_one_it_ends_in(ground, files):
    """A check that was made in one folder is not used in another."""
    ground.prepare()
    (ground.outside / "new").write_text("secret")
    ground.before = ground.look()
    swap = swap_for_link(ground.top / "sub", ground.outside)
    for _ in at_every_step(ground, lambda: files.write("tree/sub/new", "x", createOnly=True), swap):
        pass

    etags = []

    def replace():
        files.write("tree/sub/f", "x", ifMatch=etags[-1])

    def ready():
        etags.append(files.resolve("tree/sub/f")["etag"])

    for _ in at_every_step(ground, replace, swap, ready):
        pass


ROUNDS = 150


@pytest.mark.parametrize("what", ["write", "append", "insert", "create", "delete", "copy", "move"])
def test_a_link_that_is_swapped_all_the_time_leads_nowhere(ground, files, what):
    ground.prepare()
    over = threading.Event()
    top = ground.top

    def swap():
        for number in itertools.count():
            if over.is_set():
                return
            try:
                os.symlink(ground.outside / "f", top / f"link{number}")
                os.rename(top / f"link{number}", top / "f")
                (top / f"file{number}").write_text("inside")
                os.rename(top / f"file{number}", top / "f")
                os.rename(top / "sub", top / "sub.away")
                os.symlink(ground.outside, top / "sub")
                os.unlink(top / "sub")
                os.rename(top / "sub.away", top / "sub")
            except OSError:
                with contextlib.suppress(OSError):  # what is worked on may be in the way
                    top.joinpath("sub", "deep").mkdir(parents=True, exist_ok=True)

    def once(number):
        match what:
            case "write":
                files.write("tree/f", "x")
            case "append" | "insert":
                files.write("tree/f", "x", mode=what)
            case "create":
                files.write("tree/f", "x", createOnly=True)
            case "delete":
                files.delete("tree/sub", recursive=True)
                files.delete("tree/f")
            case "copy":
                files.copy("tree/other", "tree/f")
                files.copy("tree", f"copy{number}")
            case "move":
                files.copy("tree/other", "tree/moved")
                files.move("tree/moved", "tree/f")

    swapper = threading.Thread(target=swap)
    swapper.start()
    for number in range(ROUNDS):
        with contextlib.suppress(RpcError):
            once(number)
    over.set()
    swapper.join()
    ground.check()
    for copied in Path(files.root).glob("copy*"):
        for path in copied.rglob("*"):
            assert path.is_symlink() or not path.is_file() or path.read_text() != "secret"
