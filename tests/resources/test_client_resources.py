"""What a client alone has, through the whole host: read by others, and watched by them."""

import pytest
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from zope.interface import implementer

from ahpd.interfaces import IResourceProvider, RpcError
from ahpd.protocol.client_uris import wrapped
from ahpd.protocol.errors import resource_not_found
from ahpd.protocol.uris import ROOT
from ahpd.testing.host import MemoryHost
from ahpd.testing.served_files import serve_files

FILES = {"file:///work/a": "a", "file:///work/b/c": "c"}


@implementer(IResourceProvider)
class Notes:
    async def read(self, uri, wanted):
        return {"data": uri, "encoding": "utf-8"}


@pytest.fixture
def host():
    host = MemoryHost(resources={"notes": Notes()})
    yield host
    host.stop()


@pytest.fixture
def editor(host):
    return host.connect("editor", ROOT)


@pytest.fixture
def files(editor):
    return serve_files(editor, FILES)


@pytest.fixture
def reader(host):
    return host.connect("reader", ROOT)


def ask(host, probe, method, uri, **params):
    return host.run(probe.request(method, uri=uri, **params))


def start(host, work):
    results = []
    Deferred.fromCoroutine(work).addBoth(results.append)
    host.settle()
    return results


def watch(host, reader, uri, **params):
    answer = ask(host, reader, "createResourceWatch", wrapped("editor", uri), **params)
    return answer["channel"]


def told(probe, channel):
    """What a subscriber read on the watch's channel, as (kind, uri) of each batch."""
    return [
        [(item["type"], item["uri"]) for item in said.action["changes"]["items"]]
        for said in probe.envelopes(channel)
    ]


def test_each_scheme_goes_its_way(host, files, reader):
    uri = wrapped("editor", "file:///work/a")
    assert ask(host, reader, "resourceRead", uri) == {"data": "a", "encoding": "utf-8"}
    assert ask(host, reader, "resourceRead", "notes:/n")["data"] == "notes:/n"
    for wrong, words in [
        ("other:/x", "nothing here serves other:"),
        ("file:///x", "nothing here serves file:"),
    ]:
        with pytest.raises(RpcError, match=words) as refusal:
            ask(host, reader, "resourceRead", wrong)
        assert refusal.value.code == -32601
    assert files.methods() == ["resourceRead"]


def test_nobody_is_asked_for_a_watch_before_somebody_subscribes(host, files, reader):
    channel = watch(host, reader, "file:///work", recursive=True)
    assert channel.startswith("ahp-resource-watch://r/")
    assert files.asked == []
    host.run(reader.subscribe(channel))
    assert files.methods() == ["createResourceWatch", "subscribe"]
    state = reader.state(channel)
    assert state["root"] == wrapped("editor", "file:///work")
    assert state["recursive"] is True


def test_what_the_client_saw_is_said_under_the_client_scheme(host, files, reader):
    channel = watch(host, reader, "file:///work")
    host.run(reader.subscribe(channel))
    files.change("updated", "file:///work/a", "file:///work/b/c")
    host.settle()
    host.advance(1)
    (batch,) = told(reader, channel)
    assert sorted(batch) == [
        ("updated", wrapped("editor", "file:///work/a")),
        ("updated", wrapped("editor", "file:///work/b/c")),
    ]


def test_two_readers_of_one_watch_have_the_client_watch_once(host, files, reader):
    other = host.connect("other", ROOT)
    channels = {watch(host, probe, "file:///work") for probe in (reader, other)}
    (channel,) = channels
    for probe in (reader, other):
        host.run(probe.subscribe(channel))
    assert len(files.watches) == 1
    reader.unsubscribe(channel)
    other.unsubscribe(channel)
    host.advance(29)
    assert len(files.watches) == 1
    host.advance(2)
    assert files.watches == {}


def test_a_client_that_comes_back_goes_on_with_the_watch(host, editor, files, reader):
    channel = watch(host, reader, "file:///work")
    host.run(reader.subscribe(channel))
    host.cut(editor)
    host.advance(10)
    files.watches.clear()
    host.reconnect(editor)
    files.change("deleted", "file:///work/a")
    host.advance(1)
    assert told(reader, channel) == [[("deleted", wrapped("editor", "file:///work/a"))]]


def test_a_reader_that_comes_back_is_told_what_it_missed(host, files, reader):
    channel = watch(host, reader, "file:///work")
    host.run(reader.subscribe(channel))
    files.change("added", "file:///work/a")
    host.advance(1)
    host.cut(reader)
    files.change("deleted", "file:///work/a")
    host.advance(1)
    host.reconnect(reader)
    uri = wrapped("editor", "file:///work/a")
    assert told(reader, channel) == [[("added", uri)], [("deleted", uri)]]
    assert files.methods().count("createResourceWatch") == 1


def test_what_the_client_says_against_the_watch_is_the_answer_to_the_subscribe(host, files, reader):
    channel = watch(host, reader, "file:///work")
    files.refuse("file:///work", resource_not_found("file:///work"))
    with pytest.raises(RpcError, match="Resource not found: file:///work") as refusal:
        host.run(reader.subscribe(channel))
    assert refusal.value.code == -32001


def test_a_client_may_watch_what_it_has_itself(host, editor, files):
    channel = watch(host, editor, "file:///work")
    host.run(editor.subscribe(channel))
    files.change("added", "file:///work/a")
    host.advance(1)
    assert told(editor, channel) == [[("added", wrapped("editor", "file:///work/a"))]]


def test_a_watch_of_a_client_that_is_not_here_is_refused_when_it_is_subscribed_to(host, reader):
    channel = watch(host, reader, "file:///work")
    with pytest.raises(RpcError, match="No connection for authority: editor") as refusal:
        host.run(reader.subscribe(channel))
    assert refusal.value.code == -32603


def test_a_client_says_nothing_on_the_hosts_own_channels(host, editor, files, reader):
    channel = watch(host, reader, "file:///work")
    host.run(reader.subscribe(channel))
    items = [{"uri": "file:///work/a", "type": "added"}]
    forged = {"type": "resourceWatch/changed", "changes": {"items": items}}
    for place in (channel, ROOT, "ahp-session:/s1"):
        editor.say(place, forged)
    host.advance(1)
    assert reader.envelopes() == []


def test_a_stop_waits_for_no_client(host, editor, reader):
    editor.serve("resourceRead", lambda params: Deferred())
    editor.serve("createResourceWatch", lambda params: Deferred())
    read = start(host, reader.request("resourceRead", uri=wrapped("editor", "file:///x")))
    channel = watch(host, reader, "file:///work")
    subscribed = start(host, reader.subscribe(channel))
    stopped = host.host.service.stopService()
    for _ in range(5):
        host.settle()
        host.clock.advance(0.1)
    assert stopped.called
    assert isinstance(read[0], Failure)
    assert isinstance(subscribed[0], Failure)
