"""A client serves its files to the host: what it answers, and what it says of its watches."""

import pytest

from ahpd.client import ConnectionGone
from ahpd.protocol.errors import permission_denied
from ahpd.testing.frames import FrameChecker
from ahpd.testing.served_files import serve_files

A, B = "mem:/notes/a.txt", "mem:/notes/deep/b.bin"
ROOT = "ahp-root://"


@pytest.fixture
def files(client, host):
    return serve_files(client, {A: "héllo", B: b"\xff\xfe"})


@pytest.fixture
def ask(host):
    """Asks as a host does; the answer, held to its shape from the other side."""
    numbers = iter(range(1, 100))

    def asked(method, /, **params):
        checker = FrameChecker()
        identifier = next(numbers)
        request = {"id": identifier, "method": method, "params": {"channel": ROOT, **params}}
        host.say(request)
        message = host.take()
        assert message["id"] == identifier
        if "error" in message:
            return message["error"]
        checker.client_sent(request)
        checker.host_sent(message)
        return message["result"]

    return asked


def test_files_are_read_as_the_bytes_are(files, ask):
    assert ask("resourceRead", uri=A) == {"data": "héllo", "encoding": "utf-8"}
    assert ask("resourceRead", uri=B) == {"data": "//4=", "encoding": "base64"}
    assert ask("resourceRead", uri=A, encoding="base64")["data"] == "aMOpbGxv"
    assert ask("resourceRead", uri="mem:/none")["code"] == -32008


def test_folders_are_there_while_something_is_in_them(files, ask):
    listed = ask("resourceList", uri="mem:/notes/")
    assert listed == {
        "entries": [{"name": "a.txt", "type": "file"}, {"name": "deep", "type": "directory"}]
    }
    assert ask("resourceResolve", uri="mem:/notes") == {"uri": "mem:/notes", "type": "directory"}
    assert ask("resourceList", uri="mem:/empty")["code"] == -32008
    assert ask("resourceMkdir", uri="mem:/empty") == {}
    assert ask("resourceList", uri="mem:/empty") == {"entries": []}


def test_files_are_written_in_each_way(files, ask):
    def write(**more):
        return ask("resourceWrite", **{"uri": A, "data": "x", "encoding": "utf-8", **more})

    etag = ask("resourceResolve", uri=A)["etag"]
    assert write(createOnly=True)["code"] == -32010
    assert write(mode="append") == {}
    assert files.files[A] == "héllox".encode()
    assert write(ifMatch=etag)["code"] == -32011
    assert write(mode="insert", position=1) == {}
    assert files.files[A] == b"hx\xc3\xa9llox"
    assert write(data="//4=", encoding="base64") == {}
    assert files.files[A] == b"\xff\xfe"


def test_files_are_moved_copied_and_deleted(files, ask):
    new = "mem:/other"
    assert ask("resourceCopy", source=A, destination=new) == {}
    assert ask("resourceCopy", source=A, destination=new, failIfExists=True)["code"] == -32010
    assert ask("resourceMove", source=A, destination=new) == {}
    assert A not in files.files
    assert ask("resourceMove", source=A, destination=new)["code"] == -32008
    assert ask("resourceDelete", uri="mem:/notes")["code"] == -32011
    assert ask("resourceDelete", uri="mem:/notes", recursive=True) == {}
    assert list(files.files) == [new]
    assert ask("resourceDelete", uri="mem:/notes")["code"] == -32008


def test_what_was_asked_is_kept_and_may_be_refused(files, ask):
    assert ask("resourceRequest", uri=A, read=True) == {}
    files.refuse(A, permission_denied("Not yours."))
    for method, params in (
        ("resourceRead", {"uri": A}),
        ("resourceCopy", {"source": B, "destination": A}),
    ):
        assert ask(method, **params) == {"code": -32009, "message": "Not yours.", "data": {}}
    assert files.methods() == ["resourceRequest", "resourceRead", "resourceCopy"]
    assert files.asked[0][1] == {"channel": ROOT, "uri": A, "read": True}


def test_a_watch_says_its_changes_once_it_is_subscribed_to(files, ask, host):
    made = ask("createResourceWatch", uri="mem:/notes", recursive=True, excludes={"items": ["x"]})
    channel = made["channel"]
    files.change("added", A)
    assert host.sent == []
    snapshot = ask("subscribe", channel=channel)["snapshot"]
    state = {"root": "mem:/notes", "recursive": True, "excludes": {"items": ["x"]}}
    assert snapshot == {"resource": channel, "state": state, "fromSeq": 0}
    files.change("updated", A, "mem:/elsewhere", B)
    files.change("deleted", B)
    files.change("deleted", "mem:/notesnot")
    said = [host.take("action")["params"] for _ in range(2)]
    changes = [{"uri": A, "type": "updated"}, {"uri": B, "type": "updated"}]
    assert said[0]["channel"] == channel
    assert said[0]["action"] == {"type": "resourceWatch/changed", "changes": {"items": changes}}
    assert [each["serverSeq"] for each in said] == [1, 2]
    assert host.sent == []
    # What a host may be sent a client may be: the same shapes hold.
    checker = FrameChecker()
    for each in said:
        checker.host_sent({"jsonrpc": "2.0", "method": "action", "params": each})


def test_a_watch_ends_when_it_is_let_go_of_and_with_its_connection(files, ask, host, client):
    one = ask("createResourceWatch", uri="mem:/notes")["channel"]
    two = ask("createResourceWatch", uri="mem:/notes")["channel"]
    assert one != two
    ask("subscribe", channel=one)
    host.say({"method": "unsubscribe", "params": {"channel": one}})
    files.change("updated", A)
    assert host.sent == []
    assert ask("subscribe", channel=one)["code"] == -32001
    assert list(files.watches) == [two]
    host.drop()
    assert files.watches == {}
    files.change("updated", A)


def test_what_a_client_says_of_its_own_counts_up_and_needs_a_connection(client, host):
    action = {"type": "resourceWatch/changed", "changes": {"items": []}}
    assert [client.say("ahp-resource-watch:/x", action) for _ in range(2)] == [1, 2]
    host.drop()
    with pytest.raises(ConnectionGone):
        client.say("ahp-resource-watch:/x", action)
