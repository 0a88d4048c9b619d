"""Making, deleting, moving and copying: files, links and whole folders."""

# The system's own calls are what is spoken of here.
# ruff: noqa: PTH102, PTH115, PTH208

import errno
import os
import shutil
import socket
import stat
import tempfile
from pathlib import Path

import pytest

from ahpd.resources.files import copying, drafts, moving, removing
from ahpd.resources.files.places import opened


def grow(top, depth):
    """A tree deeper than a path may be long; `top` is its root."""
    os.mkdir(top)
    here = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


@pytest.fixture
def tree(tmp_path):
    """A folder with a bit of everything."""
    top = tmp_path / "tree"
    (top / "sub" / "empty").mkdir(parents=True)
    (top / "a.txt").write_text("a")
    (top / "sub" / "b.sh").write_text("b")
    (top / "sub" / "b.sh").chmod(0o750)
    (top / "link").symlink_to("sub/b.sh")
    (top / "folder link").symlink_to("sub")
    (top / "nowhere").symlink_to("/gone/away")
    (top / "sub").chmod(0o711)
    for path in (top / "a.txt", top / "sub", top):
        os.utime(path, ns=(10**18, 10**18 + 123))
    return top


def shape(top):
    """What a tree is made of, but for the times of access."""
    found = {}
    for path in [top, *sorted(top.rglob("*"))]:
        info = path.lstat()
        held = os.readlink(path) if path.is_symlink() else path.is_file() and path.read_bytes()
        times = None if path.is_symlink() else info.st_mtime_ns
        found[str(path.relative_to(top))] = (info.st_mode, held, times)
    return found


# -- mkdir ---------------------------------------------------------------------------


def test_a_directory_is_made_with_the_parents_it_needs(files, tmp_path):
    files.mkdir("a/b/c")
    files.mkdir("a/b/c")
    files.mkdir("a/b/d/")
    files.mkdir("")
    files.done(files.provider.mkdir("file:///"))
    assert files.names() == ["a", "a/b", "a/b/c", "a/b/d"]


def test_a_link_to_a_directory_is_one(files, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    files.mkdir("link")
    files.mkdir("link/sub")
    assert (tmp_path / "real" / "sub").is_dir()


def test_what_is_in_the_way_of_a_directory_is_refused(files, tmp_path, refused):
    (tmp_path / "f").write_text("")
    (tmp_path / "nowhere").symlink_to("gone")
    os.mkfifo(tmp_path / "pipe")
    for name in ("f", "f/sub", "f/sub/sub", "nowhere", "pipe"):
        with refused(-32010, f"Resource already exists: {files.uri(name)}"):
            files.mkdir(name)
    (tmp_path / "circle").symlink_to("circle")
    with refused(-32008, "in a circle"):
        files.mkdir("circle")
    assert files.names() == ["circle", "f", "nowhere", "pipe"]


def test_a_directory_made_by_another_meanwhile_is_no_error(files, tmp_path, monkeypatch):
    mkdir = os.mkdir

    def twice(path, *arguments):
        mkdir(path, *arguments)
        mkdir(path, *arguments)

    monkeypatch.setattr(os, "mkdir", twice)
    files.mkdir("a/b")
    assert files.names() == ["a", "a/b"]


def test_a_directory_may_be_as_deep_as_a_path_is_long(files_under, quick_folder):
    files = files_under(quick_folder)
    deep = "/".join(["d"] * 1100)
    files.mkdir(deep)
    assert files.resolve(deep)["type"] == "directory"
    files.delete("d", recursive=True)
    assert files.names() == []


# -- delete --------------------------------------------------------------------------


def test_a_file_an_empty_directory_and_a_link_itself_are_deleted(files, tmp_path):
    (tmp_path / "f").write_text("")
    (tmp_path / "d").mkdir()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "x").write_text("")
    (tmp_path / "link").symlink_to("kept")
    (tmp_path / "again").symlink_to("kept")
    (tmp_path / "nowhere").symlink_to("gone")
    os.mkfifo(tmp_path / "pipe")
    for name in ("f", "d", "link", "nowhere", "pipe"):
        files.delete(name)
    files.delete("again/", recursive=True)
    assert files.names() == ["kept", "kept/x"]


def test_a_directory_with_something_in_it_goes_only_when_told(files, tree, refused):
    before = shape(tree)
    with refused(-32602, "Directory not empty", files.uri("tree"), "params.recursive"):
        files.delete("tree")
    assert shape(tree) == before
    files.delete("tree", recursive=True)
    assert files.names() == []


def test_what_links_of_a_deleted_tree_lead_to_stays(files, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "f").write_text("kept")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "tree" / "file").symlink_to(tmp_path / "outside" / "f")
    files.delete("tree", recursive=True)
    assert files.names() == ["outside", "outside/f"]


def test_a_tree_deeper_than_any_path_is_deleted(files_under, quick_folder):
    files = files_under(quick_folder)
    grow(quick_folder / "deep", 2100)
    files.delete("deep", recursive=True)
    assert os.listdir(quick_folder) == []


def test_what_is_not_there_cannot_be_deleted(files, tmp_path, refused):
    (tmp_path / "f").write_text("")
    for name in ("gone", "gone/x", "f/x"):
        for recursive in (True, False):
            with refused(-32008, f"Resource not found: {files.uri(name)}"):
                files.delete(name, recursive)


@pytest.mark.parametrize("uri", ["file:///", "file://localhost", "file:///..", "file:///tmp/../"])
def test_the_root_is_never_deleted_or_moved(files, refused, uri, monkeypatch):
    for name in ("unlink", "rmdir", "rename"):
        monkeypatch.setattr(os, name, None)
    code = -32602 if uri == "file://localhost" else -32009
    with refused(code):
        files.done(files.provider.delete(uri, True))
    with refused(code):
        files.done(files.provider.move(uri, files.uri("x"), False))
    with refused(code):
        files.done(files.provider.move(files.uri("x"), uri, False))


def test_what_may_not_be_deleted_is_refused(files_under, open_folder, refused, as_nobody):
    files = files_under(open_folder)
    with as_nobody():
        (open_folder / "kept").mkdir()
        (open_folder / "kept" / "f").write_text("")
        (open_folder / "kept").chmod(0o555)
        with refused(-32009, f"Permission denied: {files.uri('kept/f')}"):
            files.delete("kept/f")
        with refused(-32009, f"Permission denied: {files.uri('kept')}"):
            files.delete("kept", recursive=True)
        (open_folder / "kept").chmod(0o755)
    assert files.names() == ["kept", "kept/f"]


# -- move ----------------------------------------------------------------------------


@pytest.fixture(params=["rename", "between file systems"])
def far(request, tmp_path):
    """A folder to move to: here, or on another file system."""
    if request.param == "rename":
        yield tmp_path / "far"
        return
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no other file system")
    folder = Path(tempfile.mkdtemp(dir=shared))
    yield folder / "far"
    shutil.rmtree(folder)


def test_a_tree_is_moved_as_it_is(files, tree, far):
    before = shape(tree)
    files.move("tree", far)
    assert shape(far) == before
    assert files.names() in (
        [],
        sorted(["far", *(f"far/{name}" for name in before if name != ".")]),
    )
    assert not tree.exists()


@pytest.mark.parametrize("was", ["file", "empty", "full", "link"])
@pytest.mark.parametrize("moved", ["file", "folder", "link"])
def test_what_is_at_the_destination_gives_way(files, tmp_path, far, was, moved, refused):
    source = tmp_path / "source"
    if moved == "file":
        source.write_text("new")
    elif moved == "link":
        source.symlink_to("new")
    else:
        source.mkdir()
        (source / "new").write_text("")
    kept = far.parent / "kept"
    kept.mkdir()
    (kept / "x").write_text("")
    if was == "file":
        far.write_text("old")
    elif was == "link":
        far.symlink_to("kept")
    else:
        far.mkdir()
        if was == "full":
            (far / "old").write_text("")
    with refused(-32010, f"Resource already exists: {files.uri(far)}"):
        files.move("source", far, new=True)
    assert os.path.lexists(source)
    files.move("source", far)
    assert not os.path.lexists(source)
    if moved == "folder":
        assert os.listdir(far) == ["new"]
    else:
        assert (far.read_text() if moved == "file" else os.readlink(far)) == "new"
    assert sorted(os.listdir(far.parent)) == ["far", "kept"]
    assert os.listdir(kept) == ["x"]


@pytest.mark.parametrize("without", ["neither", "renameat2", "links"])
def test_to_where_nothing_is(files, tmp_path, tree, far, monkeypatch, without, refused):
    if without != "neither":
        monkeypatch.setattr(drafts.kernel, "_renameat2", None)
    if without == "links":

        def no_links(*arguments, **more):
            raise OSError(errno.EPERM, "no links here")

        monkeypatch.setattr(os, "link", no_links)
    before = shape(tree)
    files.move("tree", far, new=True)
    assert shape(far) == before
    files.move(far / "a.txt", tmp_path / "moved", new=True)
    assert (tmp_path / "moved").read_text() == "a"
    with refused(-32010):
        files.move(far / "sub", tmp_path / "moved", new=True)
    assert (far / "sub").is_dir()


def test_onto_itself_nothing_happens(files, tree, refused):
    before = shape(tree)
    (tree.parent / "alias").symlink_to("tree")
    for name in ("tree", "tree/a.txt", "tree/link"):
        for act in (files.move, files.copy):
            act(name, name)
            act(name, f"x/../{name}")
            with refused(-32010):
                act(name, name, new=True)
    files.move("tree/a.txt", "alias/a.txt")
    assert shape(tree) == before


def test_a_folder_goes_neither_into_itself_nor_over_what_holds_it(files, tree, refused):
    before = shape(tree)
    (tree.parent / "alias").symlink_to("tree/sub")
    for act in (files.move, files.copy):
        for inside in ("tree/new", "tree/sub/new", "tree/sub/empty", "alias/new"):
            with refused(-32602, files.uri(inside), "into itself"):
                act("tree", inside)
        for inner in ("tree/sub", "tree/a.txt", "tree/sub/empty", "alias/empty"):
            with refused(-32602, files.uri(inner), "would be lost"):
                act(inner, "tree")
    assert shape(tree) == before


def test_one_name_of_a_file_moved_to_another_is_gone(files, tmp_path):
    (tmp_path / "f").write_text("both")
    os.link(tmp_path / "f", tmp_path / "g")
    (tmp_path / "d").mkdir()
    os.link(tmp_path / "f", tmp_path / "d" / "h")
    files.move("f", "g")
    assert files.names() == ["d", "d/h", "g"]
    files.move("g", "d/h")
    assert files.names() == ["d", "d/h"]
    assert (tmp_path / "d" / "h").read_text() == "both"


def test_what_cannot_be_moved_is_refused(files, tmp_path, refused):
    (tmp_path / "f").write_text("f")
    for source in ("gone", "gone/x", "f/x"):
        for act in (files.move, files.copy):
            with refused(-32008, f"Resource not found: {files.uri(source)}"):
                act(source, "new")
    for destination in ("gone/new", "f/new"):
        for act in (files.move, files.copy):
            with refused(-32008, f"Resource not found: {files.uri(destination)}"):
                act("f", destination)
    assert files.names() == ["f"]


def test_a_move_that_may_not_be_is_refused(files_under, open_folder, refused, as_nobody):
    files = files_under(open_folder)
    with as_nobody():
        (open_folder / "kept").mkdir()
        (open_folder / "kept" / "f").write_text("kept")
        (open_folder / "g").write_text("g")
        (open_folder / "kept").chmod(0o555)
        for source, destination in (("kept/f", "new"), ("g", "kept/new"), ("g", "kept/f")):
            with refused(-32009, files.uri(source), files.uri(destination)):
                files.move(source, destination)
        with refused(-32009, files.uri("kept/new")):
            files.copy("g", "kept/new")
        (open_folder / "kept").chmod(0o755)
    assert files.names() == ["g", "kept", "kept/f"]


def crosses(monkeypatch):
    """Have renames between folders fail as they do between file systems."""
    rename = os.rename

    def far(source, target, *, src_dir_fd, dst_dir_fd):
        if src_dir_fd != dst_dir_fd:
            raise OSError(errno.EXDEV, "far away")
        rename(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "rename", far)


def test_a_move_between_file_systems_that_fails_leaves_both_ends(
    files, tmp_path, tree, monkeypatch, refused
):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "old").write_text("old")
    before, there = shape(tree), shape(tmp_path / "there")
    crosses(monkeypatch)
    os.mkfifo(tree / "sub" / "pipe")
    with refused(-32602, "a named pipe"):
        files.move("tree", "there")
    (tree / "sub" / "pipe").unlink()
    os.utime(tree / "sub", ns=(10**18, 10**18 + 123))
    with monkeypatch.context() as patched:

        def full(*arguments):
            raise OSError(errno.ENOSPC, "full")

        patched.setattr(copying, "pour", full)
        with refused(-32603, "no space left", files.uri("there")):
            files.move("tree", "there")
    assert (shape(tree), shape(tmp_path / "there")) == (before, there)
    assert sorted(os.listdir(tmp_path)) == ["there", "tree"]


def test_an_original_is_deleted_when_its_copy_is_on_disk(files, tree, monkeypatch):
    crosses(monkeypatch)
    seen = []
    monkeypatch.setattr(os, "sync", lambda: seen.append(tree.exists()))
    files.move("tree", "there")
    assert seen == [True]
    assert not tree.exists()


def test_an_original_that_cannot_be_deleted_after_a_move_is_said(
    files, tmp_path, tree, monkeypatch, refused
):
    crosses(monkeypatch)

    def fails(folder, name, go_on):
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(moving, "remove_entry", fails)
    with refused(-32603, files.uri("there"), "not all deleted", files.uri("tree")):
        files.move("tree", "there")
    assert shape(tmp_path / "there") == shape(tree)


def test_what_was_replaced_and_cannot_be_deleted_is_said(files, tmp_path, monkeypatch, refused):
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_text("")

    def fails(folder, name):
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(drafts, "remove_entry", fails)
    with refused(-32603, "is left beside it as .ahpd-", files.uri("old")):
        files.move("new", "old")
    assert os.listdir(tmp_path / "old") == ["new"]


@pytest.mark.parametrize("exchanges", [True, False])
def test_what_was_put_aside_comes_back_where_a_move_fails(
    files, tmp_path, monkeypatch, refused, exchanges
):
    (tmp_path / "new").write_text("")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "x").write_text("")
    rename = os.rename
    if not exchanges:
        monkeypatch.setattr(drafts.kernel, "_renameat2", None)

    def fails(source, target, **folders):
        if source == "new" and not (tmp_path / "old").is_dir():
            raise OSError(errno.EIO, "broken")
        rename(source, target, **folders)

    monkeypatch.setattr(os, "rename", fails)
    with refused(-32603, files.uri("old")):
        files.move("new", "old")
    assert files.names() == ["new", "old", "old/x"]


@pytest.mark.skipif(drafts.kernel._renameat2 is None, reason="the system exchanges no names")
@pytest.mark.parametrize("call", ["move", "copy"])
@pytest.mark.parametrize("comes", ["file", "folder"])
def test_something_is_at_the_destination_at_every_moment(files, tmp_path, monkeypatch, call, comes):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "x").write_text("old")
    if comes == "file":
        (tmp_path / "new").write_text("new")
    else:
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "y").write_text("new")
    rename, seen = os.rename, []

    def looked(source, target, **folders):
        try:
            rename(source, target, **folders)
        finally:
            seen.append((tmp_path / "old").exists())

    monkeypatch.setattr(os, "rename", looked)
    getattr(files, call)("new", "old")
    assert seen == [True, True]
    left = ["old"] if comes == "file" else ["old", "old/y"]
    kept = [] if call == "move" else [name.replace("old", "new") for name in left]
    assert files.names() == sorted(left + kept)


# -- copy ----------------------------------------------------------------------------


def test_a_tree_is_copied_as_it_is(files, tree):
    before = shape(tree)
    files.copy("tree", "copy")
    assert shape(tree) == before
    assert shape(tree.parent / "copy") == before
    (tree.parent / "copy" / "a.txt").write_text("other")
    assert (tree / "a.txt").read_text() == "a"


def test_a_link_is_copied_as_a_link(files, tree):
    files.copy("tree/link", "tree/sub/link")
    assert os.readlink(tree / "sub" / "link") == "sub/b.sh"


def test_a_copy_takes_the_place_of_what_is_there(files, tmp_path, tree, refused):
    before = shape(tree)
    (tmp_path / "f").write_text("old")
    (tmp_path / "d" / "old").mkdir(parents=True)
    (tmp_path / "link").symlink_to("f")
    for name in ("f", "d", "link"):
        with refused(-32010, files.uri(name)):
            files.copy("tree", name, new=True)
    for name in ("link", "f", "d"):
        files.copy("tree", name)
        assert shape(tmp_path / name) == before
        files.copy("tree/a.txt", name)
        assert (tmp_path / name).read_text() == "a"
    assert sorted(os.listdir(tmp_path)) == ["d", "f", "link", "tree"]


def test_a_copy_over_one_name_of_a_file_leaves_its_others(files, tmp_path):
    (tmp_path / "f").write_text("old")
    os.link(tmp_path / "f", tmp_path / "g")
    (tmp_path / "new").write_text("new")
    files.copy("new", "f")
    assert [(tmp_path / name).read_text() for name in "fg"] == ["new", "old"]
    files.copy("f", "g")
    os.link(tmp_path / "f", tmp_path / "h")
    files.copy("f", "h")
    assert not (tmp_path / "f").samefile(tmp_path / "h")


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_what_is_no_file_is_not_copied_and_nothing_is_left(files, tree, refused, kind):
    path = tree / "sub" / kind
    if kind == "pipe":
        os.mkfifo(path)
    else:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    for source in ("tree", f"tree/sub/{kind}"):
        with refused(-32602, "Not copied", f"'{kind}'"):
            files.copy(source, "copy")
    assert os.listdir(tree.parent) == ["tree"]


def test_what_may_not_be_read_is_not_copied_and_nothing_is_left(
    files_under, open_folder, refused, as_nobody
):
    files = files_under(open_folder)
    with as_nobody():
        (open_folder / "tree" / "sub").mkdir(parents=True)
        (open_folder / "tree" / "a").write_text("")
        (open_folder / "tree" / "sub" / "secret").write_text("")
        (open_folder / "tree" / "sub" / "secret").chmod(0)
        with refused(-32009, f"Permission denied: {files.uri('tree')}"):
            files.copy("tree", "copy")
    assert os.listdir(open_folder) == ["tree"]


def test_a_folder_that_may_not_be_entered_by_its_mode_is_copied_with_it(
    files_under, open_folder, as_nobody
):
    files = files_under(open_folder)
    with as_nobody():
        (open_folder / "tree" / "sub").mkdir(parents=True)
        (open_folder / "tree" / "sub" / "f").write_text("")
        (open_folder / "tree" / "sub").chmod(0o500)
        files.copy("tree", "copy")
        files.move("copy", "moved")
        mode = (open_folder / "moved" / "sub").stat().st_mode
        for name in ("tree", "moved"):
            (open_folder / name / "sub").chmod(0o700)
    assert stat.S_IMODE(mode) == 0o500
    assert (open_folder / "moved" / "sub" / "f").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")
def test_a_copy_is_its_makers_and_a_moved_file_its_owners(files, tmp_path, monkeypatch):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("")
    os.chown(tmp_path / "d" / "f", 1234, 4321)
    (tmp_path / "d" / "f").chmod(0o6755)
    files.copy("d", "copy")
    found = (tmp_path / "copy" / "f").stat()
    assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (0, 0o755)
    (tmp_path / "far").mkdir()
    crosses(monkeypatch)
    files.move("d", "far/d")
    found = (tmp_path / "far" / "d" / "f").stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 4321, 0o6755)


def test_attributes_are_copied(files, tmp_path):
    (tmp_path / "f").write_text("")
    try:
        os.setxattr(tmp_path / "f", "user.note", b"kept")
    except OSError:
        pytest.skip("the file system has no attributes")
    files.copy("f", "g")
    assert os.getxattr(tmp_path / "g", "user.note") == b"kept"


@pytest.mark.parametrize("shortcut", [True, False])
def test_a_large_file_is_copied_in_pieces(files, tmp_path, monkeypatch, shortcut):
    if not shortcut:

        def no_shortcut(*arguments, **more):
            raise OSError(errno.EXDEV, "no")

        monkeypatch.setattr(os, "copy_file_range", no_shortcut)
    data = os.urandom(3_000_001)
    (tmp_path / "f").write_bytes(data)
    pread = os.pread
    sizes = []

    def counted(file, count, start):
        sizes.append(count)
        return pread(file, count, start)

    monkeypatch.setattr(os, "pread", counted)
    files.copy("f", "g")
    assert (tmp_path / "g").read_bytes() == data
    assert all(size <= 1 << 20 for size in sizes)


def test_what_the_kernel_makes_up_is_copied(files, tmp_path):
    files.copy("/proc/self/status", tmp_path / "status")
    assert "VmPeak" in (tmp_path / "status").read_text()


def test_a_deep_tree_is_copied(files_under, quick_folder):
    files = files_under(quick_folder)
    grow(quick_folder / "deep", 1100)
    files.copy("deep", "copy")
    files.delete("deep", recursive=True)
    with opened(files.uri("copy")) as place:
        depth, here = 0, os.open("copy", os.O_RDONLY, dir_fd=place.folder)
        while "d" in os.listdir(here):
            depth, above = depth + 1, here
            here = os.open("d", os.O_RDONLY, dir_fd=above)
            os.close(above)
        assert os.listdir(here) == ["f"]
        os.close(here)
    assert depth == 1100
    files.delete("copy", recursive=True)


def test_no_descriptor_is_left_open(files, tree, refused):
    before = len(os.listdir("/proc/self/fd"))
    files.copy("tree", "copy")
    files.move("copy", "moved")
    files.write("moved/a.txt", "x")
    files.write("moved/a.txt", "x", mode="append")
    files.read("moved/a.txt")
    with refused(-32602):
        files.delete("moved")
    with refused(-32602):
        files.copy("moved", "moved/sub/x")
    os.mkfifo(tree / "pipe")
    with refused(-32602):
        files.copy("tree", "copy")
    with refused(-32602):
        files.read("tree/pipe")
    files.delete("moved", recursive=True)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_tree_that_vanishes_while_it_is_deleted_is_no_error(files, tree, monkeypatch):
    unlink = os.unlink

    def twice(name, *, dir_fd):
        unlink(name, dir_fd=dir_fd)
        unlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(removing.os, "unlink", twice)
    files.delete("tree", recursive=True)
    assert not tree.exists()
