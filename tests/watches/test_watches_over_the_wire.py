"""`createResourceWatch` and its channel as a client of a host has them."""

import shutil
import sys

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.task import Clock

from ahpd.interfaces import WatchRequest
from ahpd.protocol.errors import RpcError
from ahpd.resources.files.provider import FileResources
from ahpd.resources.watching.files import FileWatcher
from ahpd.testing.daemon import Daemon
from ahpd.testing.host import MemoryHost
from ahpd.testing.served_files import serve_files
from ahpd.threads import in_thread
from ahpd.watches.channels import GRACE
from ahpd.watches.names import channel_of, request_of
from tests.watches.conftest import folded, listing, uri_of

ROOT = "ahp-root://"
#: Without a reactor that hears of files, they are looked at every two seconds.
LOOK = 2.0


@pytest.fixture
def host():
    clock = Clock()
    thread = in_thread(clock)
    files = FileResources(thread, ids=lambda: "draft", watcher=FileWatcher(thread, clock, clock))
    made = MemoryHost(clock=clock, resources={"file": files})
    yield made
    made.stop()


@pytest.fixture
def client(host):
    return host.connect("c1", ROOT)


def create(host, client, path, **options):
    params = {"uri": path if isinstance(path, str) else uri_of(path), **options}
    result = host.run(client.request("createResourceWatch", channel=ROOT, **params))
    return result["channel"]


def refused(host, work):
    with pytest.raises(RpcError) as caught:
        host.run(work)
    return caught.value.code, caught.value.message


def said(client, channel):
    return [
        [(item["type"], item["uri"]) for item in envelope.action["changes"]["items"]]
        for envelope in client.envelopes(channel)
    ]


def test_a_client_is_told_what_changes_under_its_watch(host, client, tmp_path):
    (tmp_path / "src" / "out").mkdir(parents=True)
    channel = create(
        host,
        client,
        tmp_path,
        recursive=True,
        excludes={"items": ["**/out/**"]},
        includes={"items": ["**/*.py"]},
    )
    assert request_of(channel) == WatchRequest(
        root=uri_of(tmp_path), recursive=True, excludes=("**/out/**",), includes=("**/*.py",)
    )
    host.run(client.subscribe(channel))
    assert client.state(channel) == {
        "root": uri_of(tmp_path),
        "recursive": True,
        "excludes": {"items": ["**/out/**"]},
        "includes": {"items": ["**/*.py"]},
    }
    for name in ("src/a.py", "src/b.txt", "src/out/c.py"):
        (tmp_path / name).write_text("x")
    host.advance(LOOK)
    assert said(client, channel) == [[("added", uri_of(tmp_path / "src" / "a.py"))]]


def test_the_root_is_checked_first(host, client, tmp_path):
    gone = uri_of(tmp_path / "gone")
    asked = client.request("createResourceWatch", channel=ROOT, uri=gone)
    assert refused(host, asked) == (-32008, f"Resource not found: {gone}")
    asked = client.request("createResourceWatch", channel=ROOT, uri="notes:/a")
    assert refused(host, asked) == (-32601, "nothing here serves notes:")
    bad = {"items": ["{a"]}
    asked = client.request("createResourceWatch", channel=ROOT, uri=uri_of(tmp_path), excludes=bad)
    assert refused(host, asked)[0] == -32602


def test_a_channel_that_names_nothing_to_watch_is_refused(host, client, tmp_path):
    gone = channel_of(WatchRequest(root=uri_of(tmp_path / "gone")))
    for channel in (gone, "ahp-resource-watch://r/AAAA", channel_of(WatchRequest(root="notes:/a"))):
        assert refused(host, client.subscribe(channel)) == (
            -32001,
            f"Resource watch not found: {channel}",
        )
        assert not host.store.is_open(channel)


def test_a_client_that_drops_and_comes_back_is_replayed_what_it_missed(host, client, tmp_path):
    channel = create(host, client, tmp_path)
    host.run(client.subscribe(channel))
    (tmp_path / "seen").mkdir()
    host.advance(LOOK)
    host.cut(client)
    (tmp_path / "missed").mkdir()
    host.advance(GRACE - 1)
    host.attach(client)
    assert host.run(client.reconnect()).type == "replay"
    assert said(client, channel) == [
        [("added", uri_of(tmp_path / "seen"))],
        [("added", uri_of(tmp_path / "missed"))],
    ]
    host.advance(2 * GRACE)
    (tmp_path / "later").write_text("x")
    host.advance(LOOK)
    assert said(client, channel)[-1] == [("added", uri_of(tmp_path / "later"))]


def test_a_client_that_comes_back_too_late_is_given_its_watch_anew(host, client, tmp_path):
    channel = create(host, client, tmp_path)
    host.run(client.subscribe(channel))
    host.cut(client)
    host.advance(GRACE)
    assert not host.store.is_open(channel)
    host.attach(client)
    assert host.run(client.reconnect()).type == "snapshot"
    assert client.state(channel)["root"] == uri_of(tmp_path)
    (tmp_path / "new").write_text("x")
    host.advance(LOOK)
    assert said(client, channel) == [[("added", uri_of(tmp_path / "new"))]]


def test_a_watch_whose_root_went_meanwhile_is_missing_at_the_reconnect(host, client, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    channel = create(host, client, root)
    host.run(client.subscribe(channel))
    host.cut(client)
    host.advance(GRACE)
    shutil.rmtree(root)
    host.reconnect(client)
    assert channel not in client.subscriptions


def test_the_last_unsubscribe_lets_go_of_the_watch(host, client, tmp_path):
    other = host.connect("c2", ROOT)
    channel = create(host, client, tmp_path)
    for each in (client, other):
        host.run(each.subscribe(channel))
    client.unsubscribe(channel)
    host.advance(2 * GRACE)
    assert host.store.is_open(channel)
    other.unsubscribe(channel)
    host.advance(GRACE)
    assert not host.store.is_open(channel)


def test_a_client_says_no_changes_of_its_own(host, client, tmp_path):
    channel = create(host, client, tmp_path)
    host.run(client.subscribe(channel))
    item = {"uri": uri_of(tmp_path / "a"), "type": "added"}
    action = {"type": "resourceWatch/changed", "changes": {"items": [item]}}
    client.dispatch(channel, action)
    host.settle()
    [envelope] = client.envelopes(channel)
    assert envelope.rejection == "Server-only action: resourceWatch/changed"


def test_a_watch_over_a_clients_files_says_what_that_client_says(host, client):
    editor = host.connect("editor", ROOT)
    files = serve_files(editor, {"mem:/notes/a.txt": "x"})
    uri = "vscode-agent-client://editor/mem/-/notes"
    channel = create(host, client, uri, recursive=True)
    assert files.asked == []
    host.run(client.subscribe(channel))
    files.change("updated", "mem:/notes/a.txt")
    host.settle()
    assert said(client, channel) == [[("updated", f"{uri}/a.txt")]]
    client.unsubscribe(channel)
    host.advance(GRACE)
    assert [watch for watch in files.watches.values() if watch.subscribed] == []


@pytest.mark.skipif(sys.platform != "linux", reason="there is no inotify")
@pytest_twisted.ensureDeferred
async def test_a_daemon_says_a_burst_over_its_socket_and_ends_with_watches_attached(tmp_path):
    watched = tmp_path / "watched"
    (watched / "sub").mkdir(parents=True)
    async with Daemon(reactor, tmp_path / "daemon", "--port", "0") as daemon:
        client = await daemon.connect("c1", ROOT)
        params = {"uri": uri_of(watched), "recursive": True}
        made = await client.request("createResourceWatch", channel=ROOT, **params)
        channel = made["channel"]
        await client.subscribe(channel)
        held = listing(watched)
        for number in range(500):
            (watched / "sub" / f"f{number}").write_text("x")
        (watched / "sub").rename(watched / "renamed")
        now = listing(watched)

        def adds_up():
            changes = [
                (kind, uri.removeprefix(uri_of(watched)).lstrip("/"))
                for batch in said(client, channel)
                for kind, uri in batch
            ]
            return folded(held, changes, now) == now or None

        await daemon.until(adds_up, "the batches add up to what is there")
