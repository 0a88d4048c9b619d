"""Resources and their watches as a client meets them, over real files and over a scheme that
serves little: each sentence of the protocol's about them that is seen on the wire alone."""

import base64

import pytest
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from zope.interface import alsoProvides, implementer

from ahpd.interfaces import (
    IResolvedResources,
    IResourceProvider,
    IResourceWatcher,
    IWatchedResources,
    WatchRequest,
)
from ahpd.protocol.errors import RpcError, permission_denied
from ahpd.protocol.methods import COMMANDS
from ahpd.resources.files.provider import FileResources
from ahpd.resources.watching.files import FileWatcher
from ahpd.testing.host import MemoryHost
from ahpd.threads import in_thread
from ahpd.watches.channels import GRACE
from ahpd.watches.names import channel_of

ROOT = "ahp-root://"
RESOURCES = sorted(name for name in COMMANDS if name.startswith("resource"))


@implementer(IResourceWatcher)
class NotWatched:
    """What there is to let go of of a watch that says nothing."""

    def release(self):
        return succeed(None)


@implementer(IResourceProvider, IWatchedResources)
class Machine:
    """Serves `computer:`, to be read and watched alone. A watch is attached when a test says so."""

    def __init__(self):
        self.attaching = []

    async def read(self, uri, wanted):
        return {"data": '{"up": true}', "encoding": "utf-8", "contentType": "application/json"}

    async def watch(self, request, changed):
        attached = Deferred()
        self.attaching.append(attached)
        await attached
        return NotWatched()

    def attach(self):
        for attached in self.attaching:
            attached.callback(None)
        self.attaching.clear()


@pytest.fixture
def machine():
    return Machine()


@pytest.fixture
def host(machine):
    clock = Clock()
    thread = in_thread(clock)
    drafts = iter(range(1000))
    files = FileResources(
        thread, ids=lambda: f"draft-{next(drafts)}", watcher=FileWatcher(thread, clock, clock)
    )
    host = MemoryHost(clock=clock, resources={"file": files, "computer": machine})
    yield host
    host.stop()


@pytest.fixture
def client(host):
    return host.connect("one", ROOT)


def ask(host, client, method, **params):
    return host.run(client.request(method, **params))


def refused(host, client, method, **params):
    with pytest.raises(RpcError) as refusal:
        host.run(client.call(method, {"channel": ROOT, **params}))
    return refusal.value.code, refusal.value.message


def begun(host, work):
    results = []
    Deferred.fromCoroutine(work).addBoth(results.append)
    host.settle()
    return results


# -- the commands -------------------------------------------------------------------------


def test_a_file_is_written_read_and_known(host, client, tmp_path):
    file = (tmp_path / "a.txt").as_uri()
    assert ask(host, client, "resourceWrite", uri=file, data="one", encoding="utf-8") == {}
    read = ask(host, client, "resourceRead", uri=file)
    assert (read["data"], read["encoding"]) == ("one", "utf-8")
    data = base64.b64encode(b"\xff\0").decode()
    ask(host, client, "resourceWrite", uri=file, data=data, encoding="base64")
    read = ask(host, client, "resourceRead", uri=file)
    assert (read["data"], read["encoding"]) == (data, "base64")
    known = ask(host, client, "resourceResolve", uri=file)
    assert (known["uri"], known["type"], known["size"]) == (file, "file", 2)
    assert {"mtime", "etag"} <= known.keys()


def test_a_write_that_names_a_version_is_of_that_version_alone(host, client, tmp_path):
    file = (tmp_path / "a.txt").as_uri()
    ask(host, client, "resourceWrite", uri=file, data="one", encoding="utf-8")
    etag = ask(host, client, "resourceResolve", uri=file)["etag"]
    write = {"uri": file, "data": "two", "encoding": "utf-8", "ifMatch": etag}
    ask(host, client, "resourceWrite", **write)
    code, words = refused(host, client, "resourceWrite", **write)
    assert code == -32011
    assert file in words
    assert (tmp_path / "a.txt").read_text() == "two"


def test_folders_are_made_with_their_parents_and_listed(host, client, tmp_path):
    folder = tmp_path / "a" / "b"
    for _ in range(2):
        assert ask(host, client, "resourceMkdir", uri=folder.as_uri()) == {}
    (folder / "file").write_text("x")
    (folder / "inner").mkdir()
    listed = ask(host, client, "resourceList", uri=folder.as_uri())
    assert listed["entries"] == [
        {"name": "inner", "type": "directory"},
        {"name": "file", "type": "file"},
    ]


def test_files_are_copied_moved_and_deleted(host, client, tmp_path):
    one, two, three = ((tmp_path / name) for name in ("one", "two", "three"))
    one.write_text("x")
    ends = {"source": one.as_uri(), "destination": two.as_uri()}
    assert ask(host, client, "resourceCopy", **ends) == {}
    assert refused(host, client, "resourceCopy", failIfExists=True, **ends)[0] == -32010
    ends = {"source": two.as_uri(), "destination": three.as_uri()}
    assert ask(host, client, "resourceMove", **ends) == {}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "three"]
    assert ask(host, client, "resourceDelete", uri=three.as_uri()) == {}
    assert refused(host, client, "resourceDelete", uri=three.as_uri())[0] == -32008


def test_every_connection_may_write_and_access_is_granted_to_anything(host, tmp_path):
    other = host.connect("other")
    file = (tmp_path / "a").as_uri()
    for uri in (file, "notes:/nobody/serves/this"):
        assert ask(host, other, "resourceRequest", uri=uri, write=True) == {}
    ask(host, other, "resourceWrite", uri=file, data="x", encoding="utf-8")
    assert (tmp_path / "a").read_text() == "x"


@pytest.mark.parametrize("method", RESOURCES)
def test_they_are_asked_on_the_root_alone(host, client, method):
    ends = {"uri": "file:///a", "source": "file:///a", "destination": "file:///b"}
    params = {**ends, "data": "", "encoding": "utf-8", "channel": "ahp-session:/s1"}
    code, words = refused(host, client, method, **params)
    assert code == -32602
    assert ROOT in words


def test_a_scheme_that_serves_little_says_what_it_does_not_do(host, client):
    status = "computer://local/status"
    read = ask(host, client, "resourceRead", uri=status)
    assert (read["data"], read["contentType"]) == ('{"up": true}', "application/json")
    assert refused(host, client, "resourceList", uri=status) == (
        -32601,
        "resourceList is not served for computer:",
    )
    write = {"uri": status, "data": "", "encoding": "utf-8"}
    assert refused(host, client, "resourceWrite", **write)[0] == -32601
    assert refused(host, client, "resourceRead", uri="notes:/a") == (
        -32601,
        "nothing here serves notes:",
    )


def test_two_ends_of_different_schemes_are_nobodys_to_carry_out(host, client, tmp_path):
    (tmp_path / "a").write_text("x")
    ends = {"source": (tmp_path / "a").as_uri(), "destination": "computer://local/a"}
    for method in ("resourceMove", "resourceCopy"):
        assert refused(host, client, method, **ends)[0] == -32602
    assert (tmp_path / "a").read_text() == "x"


# -- the watches ----------------------------------------------------------------------------


def test_a_subscribe_to_a_watch_holds_no_place_and_loses_none(host, client, machine):
    channel = channel_of(WatchRequest(root="computer://local/status"))
    first = begun(host, client.subscribe(channel))
    second = begun(host, client.subscribe(channel))
    client.unsubscribe(channel)
    third = begun(host, client.subscribe(channel))
    assert [first, second, third] == [[], [], []]
    machine.attach()
    host.settle()
    answers = first + second + third
    assert len(answers) == 3
    assert not [answer for answer in answers if hasattr(answer, "raiseException")]
    assert host.store.watchers(channel) != ()


def test_one_that_unsubscribes_ends_nobody_elses_watch(host, client, machine):
    other = host.connect("other", ROOT)
    channel = channel_of(WatchRequest(root="computer://local/status"))
    both = begun(host, client.subscribe(channel)), begun(host, other.subscribe(channel))
    machine.attach()
    host.settle()
    assert all(both)
    client.unsubscribe(channel)
    host.advance(2 * GRACE)
    assert host.store.is_open(channel)
    host.cut(other)
    host.advance(GRACE)
    assert not host.store.is_open(channel)


def test_a_first_subscription_to_a_watch_is_answered_or_not_taken(host, tmp_path):
    channel = channel_of(WatchRequest(root=tmp_path.as_uri()))
    gone = channel_of(WatchRequest(root=(tmp_path / "gone").as_uri()))
    client = host.client("one")
    host.attach(client)
    result = host.run(client.initialize(subscriptions=[channel, gone]))
    assert [snapshot["resource"] for snapshot in result["snapshots"]] == [channel]
    (tmp_path / "new").write_text("x")
    host.advance(2)
    [said] = client.envelopes(channel)
    assert said.action["changes"]["items"] == [
        {"type": "added", "uri": (tmp_path / "new").as_uri()}
    ]
    assert host.store.watchers(gone) == ()


def test_clients_of_older_versions_are_told_of_changes(host, tmp_path):
    client = host.client("older")
    host.attach(client)
    host.run(client.initialize(versions=["0.9.0"]))
    made = ask(host, client, "createResourceWatch", uri=tmp_path.as_uri())
    host.run(client.subscribe(made["channel"]))
    (tmp_path / "new").write_text("x")
    host.advance(2)
    assert [said.action["type"] for said in client.envelopes()] == ["resourceWatch/changed"]


def test_a_root_nobody_may_read_is_not_watched(host, client, machine):
    async def read(uri, wanted):
        raise permission_denied("not this one")

    async def resolve(uri, follow_symlinks):
        return {"uri": uri, "type": "file"}

    machine.read, machine.resolve = read, resolve
    alsoProvides(machine, IResolvedResources)
    root = "computer://local/secret"
    assert refused(host, client, "createResourceWatch", uri=root) == (
        -32009,
        f"Permission denied: {root}",
    )
