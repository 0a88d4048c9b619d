"""A fuzzed host touches no file but those made for it, whatever a URI is turned into."""

import os
from random import Random

import pytest
from hypothesis import given
from twisted.internet.defer import Deferred

from ahpd.interfaces import Wanted, WatchRequest
from ahpd.protocol.errors import RpcError

from .fence import FENCE, FENCED, Watches, fenced_files
from .names import ODD_URIS
from .profile import examples, marks, steps
from .values import text_of

pytestmark = marks

INSIDE = "file:///fuzz/text"


@pytest.fixture
def files():
    FENCE.enter()
    watches = Watches()
    made = fenced_files(watches)
    made.watches = watches
    yield made
    FENCE.leave()


def done(coroutine):
    results = []
    Deferred.fromCoroutine(coroutine).addBoth(results.append)
    (result,) = results
    return result


def operations(files, uri, other=INSIDE):
    """Every operation about a file, in each of its places."""
    text = {"data": "x", "encoding": "utf-8"}
    return {
        "read": lambda: files.read(uri, Wanted()),
        "list": lambda: files.list(uri),
        "resolve": lambda: files.resolve(uri=uri, follow_symlinks=True),
        "write": lambda: files.write({"uri": uri, **text}),
        "delete": lambda: files.delete(uri, True),
        "mkdir": lambda: files.mkdir(uri),
        "move": lambda: files.move(uri, other, False),
        "move to": lambda: files.move(other, uri, False),
        "copy": lambda: files.copy(uri, other, False),
        "copy to": lambda: files.copy(source=other, destination=uri, fail_if_exists=False),
        "watch": lambda: files.watch(WatchRequest(root=uri, recursive=True), lambda _: None),
    }


def test_every_operation_is_behind_it(files):
    assert FENCE.stands
    assert {name.split()[0] for name in operations(files, INSIDE)} == set(FENCED)


@pytest.mark.parametrize("name", operations(None, ""))
def test_nothing_outside_is_touched(files, tmp_path, name):
    (tmp_path / "mine").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    for uri in (
        (tmp_path / "mine").as_uri(),
        tmp_path.as_uri(),
        f"file:///fuzz/..{tmp_path}/mine",
        f"file:///fuzz/%2e%2e{tmp_path}/mine",
        f"FILE://localhost{tmp_path}//mine/",
        f"{INSIDE}{(tmp_path / 'mine').as_uri()}/../../../../../../../../../../../{tmp_path}",
        "file:///",
        "file:///fuzzy",
        "file:///fuzz/..",
    ):
        failure = done(operations(files, uri)[name]())
        assert failure.check(RpcError), f"{uri}: {failure}"
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "mine").read_text() == "mine"
    assert files.watches.held == []


def test_what_is_inside_is_served(files):
    assert done(files.read(INSIDE, Wanted()))["data"].startswith("hello\n")
    assert done(files.write({"uri": "file:///fuzz/new", "data": "x", "encoding": "utf-8"})) is None
    assert (FENCE.folder / "new").read_text() == "x"
    assert done(files.move("file:///fuzz/new", "file:///fuzz/deep/new", False)) is None
    assert done(files.delete("file:///fuzz/%64eep", True)) is None
    assert sorted(path.name for path in FENCE.folder.iterdir()) == ["bytes", "text"]
    done(files.watch(WatchRequest(root="file:///fuzz"), lambda _: None))
    assert [watch.root for watch in files.watches.held] == [FENCE.folder.as_uri()]


def test_without_a_rig_nothing_is_served(files):
    FENCE.leave()
    for name, operation in operations(files, INSIDE).items():
        assert done(operation()).check(RpcError), name
    assert FENCE.folder is None


@examples(200)
@given(seeds=steps(30))
def test_no_accident_of_a_uri_leads_outside(seeds):
    """What of a URI is cut, doubled, flipped or put into another stays inside or is refused."""
    for seed in seeds:
        random = Random(seed)
        uri = random.choice([INSIDE, "file:///fuzz/deep/../text", "file:///fuzz/%2e%2e/a"])
        for _ in range(random.randrange(1, 5)):
            at, to = sorted(random.randrange(len(uri) + 1) for _ in range(2))
            put = random.choice(
                ["", uri[at:to] * 2, "/..", "%2e%2e/", "//", "\0", "%", "é", "\ud800"]
            )
            uri = uri[:at] + random.choice([put, random.choice(ODD_URIS)[:50]]) + uri[to:]
        FENCE.enter()
        holder = os.path.realpath(FENCE.folder)
        try:
            meant = FENCE.inside(uri)
        except RpcError:
            continue
        finally:
            FENCE.leave()
        path = meant.removeprefix("file://")
        assert path == holder or path.startswith(f"{holder}/"), text_of(uri)
