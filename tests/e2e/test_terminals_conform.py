"""Terminals and `!` commands as a client meets them: each sentence of the protocol's about them
that is seen on the wire alone."""

import pytest

from ahpd.protocol.uris import ROOT
from ahpd.testing.host import MemoryHost
from ahpd.testing.terminals import ScriptedTerminals

SESSION = "ahp-session:/s1"
URI = "ahp-terminal:/t1"


@pytest.fixture
def terminals():
    return ScriptedTerminals()


@pytest.fixture
def host(terminals):
    host = MemoryHost(terminals=terminals)
    yield host
    host.stop()


def claimed_by(client_id):
    return {"kind": "client", "clientId": client_id}


def create(host, client, uri=URI, **params):
    params.setdefault("claim", claimed_by(client.client_id))
    host.run(client.call("createTerminal", {"channel": uri, **params}))


def introduced(host, name, *subscriptions, **how):
    client = host.client(name)
    host.attach(client)
    return client, host.run(client.initialize(subscriptions=subscriptions, **how))


def joined(host, client):
    if not host.store.is_open(SESSION):
        host.run(client.request("createSession", channel=SESSION))
    host.run(client.subscribe(SESSION))
    chat = client.state(SESSION)["defaultChat"]
    host.run(client.subscribe(chat))
    return chat


def send(host, client, chat, text, turn_id="t1"):
    client.dispatch(
        chat,
        {
            "type": "chat/turnStarted",
            "turnId": turn_id,
            "startedAt": "2026-01-02T03:04:05.000Z",
            "message": {"text": text, "origin": {"kind": "user"}},
        },
    )
    host.settle()


def terminal_of(client, chat):
    [turn] = client.plain_state(chat)["turns"]
    return turn["responseParts"][0]["toolCall"]["content"][0]["resource"]


# -- the handshake --------------------------------------------------------------------------


def test_what_a_command_begins_with_is_said_by_a_host_that_runs_them(host):
    _, result = introduced(host, "one")
    assert result["terminalCommandPrefix"] == "!"
    without = MemoryHost()
    _, result = introduced(without, "one")
    assert "terminalCommandPrefix" not in result
    without.stop()


def test_a_first_subscription_to_an_open_terminal_has_its_snapshot(host, terminals):
    create(host, host.connect("one", ROOT))
    terminals.last.prints("$ ")
    two, result = introduced(host, "two", URI)
    assert [snapshot["resource"] for snapshot in result["snapshots"]] == [URI]
    terminals.last.prints("ls")
    host.advance(1)
    assert two.plain_state(URI)["content"] == [{"type": "unclassified", "value": "$ ls"}]


def test_a_first_subscription_to_a_terminal_that_is_kept_is_owed_its_state(host, terminals):
    one = host.connect("one", ROOT)
    chat = joined(host, one)
    send(host, one, chat, "!make")
    terminals.last.prints("built\r\n")
    terminals.last.exits(0)
    host.settle()
    uri = terminal_of(one, chat)
    assert not host.store.is_open(uri)
    two, result = introduced(host, "two", uri)
    assert result["snapshots"] == []
    host.cut(two)
    host.attach(two)
    assert host.run(two.reconnect(subscriptions=[uri])).type == "snapshot"
    state = two.plain_state(uri)
    assert state["lifecycle"] == {"status": "exited", "exitCode": 0}
    assert state["content"] == [{"type": "unclassified", "value": "built\r\n"}]
    assert two.envelopes(uri) == []


# -- actions ----------------------------------------------------------------------------------


def test_what_a_client_does_goes_to_every_client_and_is_held_for_who_was_away(host, terminals):
    one, two, away = (host.connect(name, ROOT) for name in ("one", "two", "away"))
    create(host, one)
    for client in (one, two, away):
        host.run(client.subscribe(URI))
    host.cut(away)
    actions = [
        {"type": "terminal/input", "data": "ls\r"},
        {"type": "terminal/resized", "cols": 100, "rows": 40},
        {"type": "terminal/claimed", "claim": claimed_by("two")},
        {"type": "terminal/titleChanged", "title": "logs"},
        {"type": "terminal/cleared"},
    ]
    for action in [*actions, *actions]:  # the second time none of them moves anything
        one.dispatch(URI, action)
    host.settle()
    host.attach(away)
    assert host.run(away.reconnect()).type == "replay"
    for client in (one, two, away):
        said = client.envelopes(URI)
        assert [each.action for each in said] == [*actions, *actions]
        assert {each.origin["clientId"] for each in said} == {"one"}
        numbers = [each.seq for each in said]
        assert numbers == sorted(set(numbers))
    assert terminals.last.typed == b"ls\rls\r"
    assert terminals.last.sizes == [(100, 40)] * 2


def test_input_to_a_shell_that_exited_goes_to_every_client_and_no_process(host, terminals):
    one, two = host.connect("one", ROOT), host.connect("two", ROOT)
    create(host, one)
    host.run(two.subscribe(URI))
    terminals.last.exits(0)
    one.dispatch(URI, {"type": "terminal/input", "data": "ls\r"})
    host.settle()
    assert [each.action["type"] for each in two.envelopes(URI)] == [
        "terminal/exited",
        "terminal/input",
    ]
    assert terminals.last.typed == b""


def test_a_size_is_kept_where_no_program_is_told_it():
    host = MemoryHost(terminals=ScriptedTerminals(pty=False))
    one = host.connect("one", ROOT)
    create(host, one)
    host.run(one.subscribe(URI))
    assert one.state(URI)["isPty"] is False
    one.dispatch(URI, {"type": "terminal/resized", "cols": 100, "rows": 40})
    host.settle()
    assert (one.state(URI)["cols"], one.state(URI)["rows"]) == (100, 40)
    host.stop()


def test_the_list_is_said_at_every_open_title_claim_exit_and_close(host, terminals):
    one, two = host.connect("one", ROOT), host.connect("two", ROOT)
    create(host, one, name="sh")
    one.dispatch(URI, {"type": "terminal/titleChanged", "title": "sh"})
    one.dispatch(URI, {"type": "terminal/claimed", "claim": claimed_by("two")})
    host.settle()
    terminals.last.exits(3)
    host.run(one.call("disposeTerminal", {"channel": URI}))
    shown = [each.action["terminals"] for each in two.envelopes(ROOT)]
    exited = {"status": "exited", "exitCode": 3}
    assert [
        [(row["title"], row["claim"]["clientId"], row["lifecycle"]) for row in rows]
        for rows in shown
    ] == [
        [("sh", "one", {"status": "running"})],
        [("sh", "one", {"status": "running"})],
        [("sh", "two", {"status": "running"})],
        [("sh", "two", exited)],
        [],
    ]


def test_a_disposed_session_closes_what_it_claimed_one_at_a_time(host):
    one = host.connect("one", ROOT)
    chat = joined(host, one)
    claim = {"kind": "session", "session": SESSION, "chat": chat}
    for number in range(2):
        create(host, one, f"ahp-terminal:/{number}", claim=claim)
    create(host, one)
    before = len(one.envelopes(ROOT))
    host.run(one.request("disposeSession", channel=SESSION))
    said = [each.action for each in one.envelopes(ROOT)[before:]]
    assert [
        [row["resource"] for row in action["terminals"]]
        for action in said
        if action["type"] == "root/terminalsChanged"
    ] == [["ahp-terminal:/1", URI], [URI]]


def test_a_client_of_an_older_version_is_told_all_of_it(host, terminals):
    older, _ = introduced(host, "older", ROOT, versions=["0.9.0"])
    create(host, older)
    host.run(older.subscribe(URI))
    terminals.last.prints("\x1b]133;A\x07$ \x1b]133;B\x07ls\r\n\x1b]133;C\x07a\r\n\x1b]133;D;0\x07")
    terminals.last.exits(0)
    host.advance(1)
    said = [each.action["type"].partition("/")[2] for each in older.envelopes(URI)]
    assert [kind for kind in said if kind != "data"] == [
        "commandDetectionAvailable",
        "commandExecuted",
        "commandFinished",
        "exited",
    ]
    parts = older.plain_state(URI)["content"]
    assert [part.get("commandLine") for part in parts] == [None, "ls"]
    assert older.plain_state(ROOT)["terminals"][0]["resource"] == URI


# -- commands -----------------------------------------------------------------------------------


def test_the_call_of_a_command_names_its_terminal_as_it_opens_and_as_it_ends(host, terminals):
    one = host.connect("one", ROOT)
    chat = joined(host, one)
    send(host, one, chat, "!make")
    said = {each.action["type"]: each.action for each in one.envelopes(chat)}
    opened = said["chat/toolCallContentChanged"]
    assert "_meta" not in opened
    [block] = opened["content"]
    assert block["resource"] == one.plain_state(ROOT)["terminals"][0]["resource"]
    terminals.last.exits(0)
    host.settle()
    said = {each.action["type"]: each.action for each in one.envelopes(chat)}
    again = said["chat/toolCallComplete"]["result"]["content"][0]
    assert {**again, "result": None} == {**block, "result": None}
    assert "chat/isReadChanged" not in said
