"""Files of this machine over the socket: what was named is touched, whole, and nothing else is."""

import contextlib
import os
import stat
import threading

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred

from ahpd.protocol.uris import ROOT
from ahpd.resources.ranges import RANGE

from .file_kit import MIB, ask, look, read, refusal, together, write


@pytest.fixture
def outside(tmp_path):
    """A folder that nobody names and that is as it was when the test is over."""
    top = tmp_path / "outside"
    (top / "deep").mkdir(parents=True)
    for name in ("f", "deep/g", "secret"):
        (top / name).write_text(f"the secret of {name}")
    before = look(top)
    yield top
    assert look(top) == before


#: What is done with one URI; `%` stands for it.
ACTS = {
    "resourceRead": {"uri": "%"},
    "resourceList": {"uri": "%"},
    "resourceResolve": {"uri": "%"},
    "resourceWrite": {"uri": "%", "data": "taken", "encoding": "utf-8"},
    "resourceDelete": {"uri": "%", "recursive": True},
    "resourceMkdir": {"uri": "%"},
    "resourceMove": {"source": "%", "destination": "file:///nowhere/at/all"},
    "resourceCopy": {"source": "%", "destination": "file:///nowhere/at/all"},
    "createResourceWatch": {"uri": "%"},
}


async def everything(client, uri):
    """What each command answers about a URI that nobody can have."""
    for method, params in ACTS.items():
        filled = {key: uri if value == "%" else value for key, value in params.items()}
        yield method, await refusal(ask(client, method, **filled))


@pytest_twisted.ensureDeferred
async def test_what_names_no_file_of_this_machine_touches_none(serve, outside):
    daemon = await serve()
    ann = await daemon.connect("ann", ROOT)
    path = str(outside)
    named_badly = [
        f"file://elsewhere{path}/f",
        f"file://127.0.0.1{path}/f",
        f"file://user@localhost{path}/f",
        f"file://localhost:80{path}/f",
        f"file:{path.lstrip('/')}/f",
        "file:",
        "file://",
        "file:///",
        f"file://{path}/f%00.txt",
        f"file://{path}/f\0.txt",
        f"file://{path}/f?x",
        f"file://{path}/f#x",
        f"file://{path}/{'x' * 256}",
        f"file://{path}/{'é' * 128}",
        f"file://{path}/{'d/' * 3000}f",
        "file:C:/Windows",
        r"C:\Windows\System32",
        r"\\server\share",
        "file:..%2f..%2fetc/passwd",
        f"nosuch:{path}/f",
        "//localhost/f",
        "",
    ]
    for uri in named_badly:
        async for method, error in everything(ann, uri):
            if (uri, method) in {
                ("file:///", "resourceList"),
                ("file:///", "resourceResolve"),
                ("file:///", "resourceMkdir"),
                ("file:///", "createResourceWatch"),
            }:
                continue  # the root of the file system is there, and stays as it is
            assert error is not None, (method, uri)
            assert error.code in (-32602, -32601, -32008, -32009), (method, uri, error)
            assert len(error.message) < 2000 + len(uri)
    assert "Traceback" not in daemon.log


@pytest_twisted.ensureDeferred
async def test_dots_are_read_once_and_what_is_encoded_twice_is_a_name(serve, outside, tmp_path):
    """A path is what its URI spells: nothing is decoded twice, and no link is walked back."""
    daemon = await serve()
    ann = await daemon.connect("ann", ROOT)
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "to-outside").symlink_to(outside / "deep")
    top = tree.as_uri()
    # A name that only seems to climb.
    for name in ("..%252f..%252foutside", "%252e%252e", "....", "..%20", "%5c..%5coutside"):
        await ask(ann, "resourceWrite", uri=f"{top}/{name}", data="mine", encoding="utf-8")
    assert {path.name for path in tree.iterdir()} == {
        "sub", "to-outside", "..%2f..%2foutside", "%2e%2e", "....", ".. ", "\\..\\outside",
    }  # fmt: skip
    # One that climbs by its text is next to the link, not to what the link leads to.
    for climbing in ("to-outside/../f", "to-outside/%2e%2E/f", "sub/..%2ff", "./sub//.././f"):
        await ask(ann, "resourceWrite", uri=f"{top}/{climbing}", data=climbing, encoding="utf-8")
        assert (tree / "f").read_text() == climbing
    # The last component is never followed when it is changed.
    (tree / "link").symlink_to(outside / "f")
    error = await refusal(write(ann, tree / "link", "taken"))
    assert error is not None
    assert error.code == -32009
    await ask(ann, "resourceCopy", source=f"{top}/link", destination=f"{top}/copied")
    await ask(ann, "resourceMove", source=f"{top}/link", destination=f"{top}/moved")
    for name in ("moved", "to-outside"):
        await ask(ann, "resourceDelete", uri=f"{top}/{name}", recursive=True)
    # A loop of links is an end.
    (tree / "a").symlink_to(tree / "b")
    (tree / "b").symlink_to(tree / "a")
    assert (await refusal(read(ann, tree / "a" / "x"))).code == -32008
    assert (await refusal(write(ann, tree / "a" / "x", ""))).code == -32008


class Swapper:
    """A thread that makes a folder a link and a folder again, as fast as it can."""

    def __init__(self, place, target):
        self._place = place
        self._target = target
        self._over = threading.Event()
        self.rounds = 0
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _run(self):
        away = self._place.with_name("away")
        while not self._over.is_set():
            with contextlib.suppress(OSError):
                os.rename(self._place, away)  # noqa: PTH104
            with contextlib.suppress(OSError):
                os.symlink(self._target, self._place)  # noqa: PTH211
            with contextlib.suppress(OSError):
                os.unlink(self._place)  # noqa: PTH108
            with contextlib.suppress(OSError):
                os.rename(away, self._place)  # noqa: PTH104
            with contextlib.suppress(OSError):
                os.mkdir(self._place)  # noqa: PTH102
            self.rounds += 1


@pytest_twisted.ensureDeferred
async def test_a_tree_that_is_swapped_for_a_link_all_the_while_leads_nowhere(
    serve, outside, tmp_path
):
    """Deletes, moves and copies of a tree in which a folder is a link to outside, now and then.

    A write through a folder follows it, as anybody's write does; what is deleted or moved
    whole is not.
    """
    daemon = await serve()
    ann = await daemon.connect("ann", ROOT)
    tree = tmp_path / "tree"
    top = tree.as_uri()
    done = 0
    with Swapper(tree / "sub", outside):
        for number in range(150):
            (tree / "sub").parent.mkdir(exist_ok=True)
            with contextlib.suppress(OSError):
                (tree / f"f{number}").write_text("mine")
            works = [
                ask(ann, "resourceWrite", uri=f"{top}/sub", data="mine", encoding="utf-8"),
                ask(ann, "resourceDelete", uri=f"{top}/sub", recursive=True),
                ask(ann, "resourceMove", source=f"{top}/sub", destination=f"{top}/moved"),
                ask(ann, "resourceMove", source=f"{top}/f{number}", destination=f"{top}/sub"),
                ask(ann, "resourceCopy", source=top, destination=f"{top}-copy"),
                ask(ann, "resourceDelete", uri=f"{top}-copy", recursive=True),
            ]
            if number % 10 == 9:
                works.append(ask(ann, "resourceDelete", uri=top, recursive=True))
            errors = await together(map(refusal, works))
            done += errors.count(None)
            assert not [each for each in errors if each is not None and each.code == -32601]
    assert done > 150
    assert "Traceback" not in daemon.log


# -- what is no file ------------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_what_is_no_file_is_refused_at_once_and_holds_nobody_up(serve, tmp_path):
    daemon = await serve()
    ann = await daemon.connect("ann", ROOT)
    tree = tmp_path / "tree"
    tree.mkdir()
    os.mkfifo(tree / "fifo")
    os.mknod(tree / "socket", stat.S_IFSOCK | 0o600)
    (tree / "to-zero").symlink_to("/dev/zero")
    (tree / "locked").write_text("x")
    (tree / "locked").chmod(0)
    special = [tree / "fifo", tree / "socket", "/dev/zero", "/dev/tty", "/dev/random"]
    special += [tree / "to-zero", "/proc/kmsg", "/proc/self/mem", f"/proc/{daemon.pid}/mem"]
    special += ["/proc/self/pagemap", "/dev/null", "/dev/ptmx", "/proc/sys/vm/drop_caches"]
    before = daemon.memory()
    answers = await together(
        refusal(read(ann, path, _meta={RANGE: {"offset": 0, "length": MIB}})) for path in special
    )
    for path, error in zip(special, answers, strict=True):
        if error is not None:
            assert error.code in (-32602, -32603, -32008, -32009), (path, error)
    for path in (tree / "fifo", tree / "socket", "/dev/zero", "/dev/null", tree / "to-zero"):
        for mode in ("truncate", "append", "insert"):
            error = await refusal(write(ann, path, "x", mode=mode))
            assert error is not None, (path, mode)
            assert error.code in (-32602, -32009), (path, error)
    assert (await refusal(read(ann, "/dev/zero"))).code == -32602
    assert (await refusal(read(ann, tree))).code == -32602
    # What is special may be listed, renamed and deleted: it is a name like any other.
    listed = await ask(ann, "resourceList", uri=tree.as_uri())
    assert {entry["name"] for entry in listed["entries"]} >= {"fifo", "socket", "to-zero"}
    await ask(
        ann,
        "resourceMove",
        source=f"{tree.as_uri()}/fifo",
        destination=f"{tree.as_uri()}/pipe",
    )
    copied = await refusal(
        ask(
            ann,
            "resourceCopy",
            source=f"{tree.as_uri()}/pipe",
            destination=f"{tree.as_uri()}/2",
        )
    )
    assert copied is None or copied.code in (-32602, -32009)
    await ask(ann, "resourceDelete", uri=f"{tree.as_uri()}/pipe")
    assert daemon.memory("VmHWM") - before < 64 * MIB
    await ann.ping()


@pytest_twisted.ensureDeferred
async def test_what_has_no_end_is_not_copied(serve, tmp_path):
    daemon = await serve()
    ann = await daemon.connect("ann", ROOT)
    target = (tmp_path / "copy").as_uri()
    for path in ("/dev/zero", "/proc/self/pagemap", "/proc/kmsg", "/proc/self/mem"):
        error = await refusal(ask(ann, "resourceCopy", source=f"file://{path}", destination=target))
        assert error is not None, path
        assert error.code in (-32602, -32603, -32009), (path, error)
        names = {each.name for each in tmp_path.iterdir()}
        assert not [name for name in names if name == "copy" or name.startswith(".ahpd-")]
    await ask(ann, "resourceCopy", source="file:///proc/version", destination=target)
    assert (tmp_path / "copy").read_bytes() == await read(ann, "/proc/version")


@pytest_twisted.ensureDeferred
async def test_a_folder_of_many_names_is_listed_while_others_are_answered(serve, tmp_path):
    daemon = await serve()
    ann, bob = await daemon.connect("ann", ROOT), await daemon.connect("bob", ROOT)
    many = tmp_path / "many"
    many.mkdir()
    names = [f"{number:05d}" for number in range(30_000)]
    for name in names:
        os.close(os.open(many / name, os.O_CREAT, 0o600))
    listing = Deferred.fromCoroutine(ask(ann, "resourceList", uri=many.as_uri()))
    trips = 0
    while not listing.called:
        await bob.ping()
        trips += 1
    assert trips
    found = await listing
    assert sorted(entry["name"] for entry in found["entries"]) == names
    await ask(ann, "resourceDelete", uri=many.as_uri(), recursive=True)
    assert not many.exists()


@pytest.mark.long
@pytest_twisted.ensureDeferred
async def test_a_folder_of_a_hundred_thousand_names_is_listed(serve, tmp_path):
    daemon = await serve()
    ann = await daemon.connect("ann", ROOT)
    many = tmp_path / "many"
    many.mkdir()
    for number in range(100_000):
        os.close(os.open(many / f"{number}", os.O_CREAT, 0o600))
    before = daemon.memory()
    found = await ask(ann, "resourceList", uri=many.as_uri())
    assert len(found["entries"]) == 100_000
    assert daemon.memory("VmHWM") - before < 150 * MIB
