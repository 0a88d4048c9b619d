"""Terminals as clients meet them: commands, the root's list, two clients, a connection lost."""

import pytest

from ahpd.interfaces import RpcError
from ahpd.protocol.errors import INVALID_PARAMS, NOT_FOUND, SESSION_NOT_FOUND
from ahpd.protocol.uris import ROOT
from ahpd.testing.host import MemoryHost
from ahpd.testing.terminals import ScriptedTerminals

URI = "ahp-terminal:/t1"
CLAIM = {"kind": "client", "clientId": "one"}


@pytest.fixture
def terminals():
    return ScriptedTerminals()


@pytest.fixture
def host(terminals):
    host = MemoryHost(terminals=terminals)
    yield host
    host.stop()


def create(host, client, uri=URI, **params):
    params.setdefault("claim", CLAIM)
    return host.run(client.call("createTerminal", {"channel": uri, **params}))


def dispose(host, client, uri=URI):
    return host.run(client.call("disposeTerminal", {"channel": uri}))


def refused(work, *args, **kwargs):
    with pytest.raises(RpcError) as failed:
        work(*args, **kwargs)
    return failed.value.code


def listed(client):
    return [row["resource"] for row in client.state(ROOT)["terminals"]]


def test_a_terminal_from_its_first_word_to_its_last(host, terminals):
    one, two = host.connect("one", ROOT), host.connect("two", ROOT)
    assert one.state(ROOT)["terminals"] == []
    assert create(host, one) is None
    assert listed(one) == listed(two) == [URI]
    for client in (one, two):
        host.run(client.subscribe(URI))
    terminals.last.prints("$ ")
    one.dispatch(URI, {"type": "terminal/input", "data": "exit\r"})
    host.settle()
    assert terminals.last.typed == b"exit\r"
    terminals.last.exits(0)
    host.advance(1)
    for client in (one, two):
        said = [envelope.action["type"] for envelope in client.envelopes(URI)]
        assert said == ["terminal/data", "terminal/input", "terminal/exited"]
        row = client.state(ROOT)["terminals"][0]
        assert row["lifecycle"] == {"status": "exited", "exitCode": 0}
    assert dispose(host, two) is None
    assert listed(one) == listed(two) == []
    assert refused(dispose, host, one) == NOT_FOUND


def test_a_terminal_nobody_has_is_unknown(host):
    one = host.connect("one", ROOT)
    with pytest.raises(RpcError) as failed:
        host.run(one.subscribe(URI))
    assert failed.value.code == SESSION_NOT_FOUND


def test_a_disposed_terminal_takes_its_subscriptions_with_it(host):
    one = host.connect("one", ROOT)
    create(host, one)
    host.run(one.subscribe(URI))
    dispose(host, one)
    with pytest.raises(RpcError):
        host.run(one.subscribe(URI))
    create(host, one)
    assert host.store.watchers(URI) == ()
    one.unsubscribe(URI)


def test_what_is_missing_or_wrong_is_named_and_opens_nothing(host, terminals):
    one = host.connect("one", ROOT, foreign=True)
    for params in ({"claim": {"kind": "robot"}}, {"cols": -1}, {"cwd": 7}):
        assert refused(create, host, one, **params) == INVALID_PARAMS
    with pytest.raises(RpcError) as failed:
        host.run(one.call("createTerminal", {"channel": URI}))
    assert failed.value.code == INVALID_PARAMS
    assert terminals.started == []


def test_a_shell_pushed_to_the_root_is_the_one_that_opens(host, terminals):
    one = host.connect("one", ROOT)
    assert "defaultShell" in one.state(ROOT)["config"]["schema"]["properties"]
    one.dispatch(ROOT, {"type": "root/configChanged", "config": {"defaultShell": "/bin/cat"}})
    create(host, one)
    assert terminals.last.program.argv[0] == "/bin/cat"
    one.dispatch(ROOT, {"type": "root/configChanged", "config": {"defaultShell": 7}})
    create(host, one, "ahp-terminal:/t2")
    assert terminals.last.program.argv[0] != "/bin/cat"


def test_a_refused_action_comes_back_with_its_words(host):
    one = host.connect("one", ROOT, foreign=True)
    create(host, one)
    host.run(one.subscribe(URI))
    for action in (
        {"type": "terminal/claimed", "claim": {"kind": "robot"}},
        {"type": "terminal/resized", "cols": 0, "rows": 0},
        {"type": "terminal/data", "data": "mine"},
        {"type": "terminal/exited"},
    ):
        one.dispatch(URI, action)
    host.settle()
    words = [envelope.rejection for envelope in one.envelopes(URI)]
    assert words == [
        "action.claim.kind: found 'robot', expected one of: client, session",
        "action.cols: found 0, expected a whole number from 1 to 65535",
        "Server-only action: terminal/data",
        "Server-only action: terminal/exited",
    ]


def test_an_action_on_a_terminal_nobody_has_comes_back_to_its_sender(host):
    one = host.connect("one", ROOT)
    one.dispatch(URI, {"type": "terminal/input", "data": "x"})
    host.settle()
    assert [e.rejection for e in one.envelopes(URI)] == [f"No terminal at {URI}"]


def test_a_client_that_comes_back_is_sent_what_was_typed_and_printed_meanwhile(host, terminals):
    one, two = host.connect("one", ROOT), host.connect("two", ROOT)
    create(host, one)
    for client in (one, two):
        host.run(client.subscribe(URI))
    terminals.last.prints("password: ")
    host.settle()
    host.cut(two)
    one.dispatch(URI, {"type": "terminal/input", "data": "hunter2\r"})
    host.settle()
    terminals.last.prints("welcome")
    host.advance(1)
    host.reconnect(two)
    said = [envelope.action for envelope in two.envelopes(URI)]
    assert {"type": "terminal/input", "data": "hunter2\r"} in said
    assert two.plain_state(URI)["content"] == [
        {"type": "unclassified", "value": "password: welcome"},
    ]


def test_a_terminal_outlives_every_connection(host, terminals):
    one = host.connect("one", ROOT)
    create(host, one)
    host.run(one.subscribe(URI))
    host.cut(one)
    terminals.last.prints("still here")
    host.advance(120)
    assert terminals.last.runs
    two = host.connect("two", ROOT)
    host.run(two.subscribe(URI))
    assert two.plain_state(URI)["content"][0]["value"] == "still here"


def test_a_late_client_reads_what_a_flood_left(host, terminals):
    one = host.connect("one", ROOT)
    create(host, one)
    host.run(one.subscribe(URI))
    for number in range(200):
        terminals.last.prints(f"{number:06d} a line of a flood\r\n" * 200)
        if number % 20 == 0:
            terminals.last.prints("\x1b]133;D;0\x07\x1b]133;A\x07$ \x1b]133;C\x07")
        host.advance(0.001)
    host.advance(1)
    two = host.connect("two", ROOT)
    host.run(two.subscribe(URI))
    host.run(one.assert_late_subscriber_agrees(two, URI))
    kept = two.plain_state(URI)["content"]
    length = sum(len(part.get("output", part.get("value"))) for part in kept)
    assert 50_000 < length <= 200_000


def test_the_host_on_its_way_out_says_that_terminals_ended():
    host = MemoryHost(terminals=ScriptedTerminals())
    one = host.connect("one", ROOT)
    create(host, one)
    host.run(one.subscribe(URI))
    host.stop()
    assert [e.action["type"] for e in one.envelopes(URI)] == ["terminal/exited"]


def test_a_host_without_terminals_lists_none_and_serves_none():
    host = MemoryHost()
    one = host.connect("one", ROOT)
    assert "terminals" not in one.state(ROOT)
    assert "defaultShell" not in one.state(ROOT)["config"]["schema"]["properties"]
    with pytest.raises(RpcError):
        create(host, one)
    host.stop()
