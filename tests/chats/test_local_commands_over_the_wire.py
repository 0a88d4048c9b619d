"""A `!` command over whole connections: sent, watched, left, come back to, read after a restart."""

import pytest

from ahpd.protocol.uris import ROOT
from ahpd.testing.host import MemoryHost
from ahpd.testing.terminals import ScriptedTerminals

SESSION = "ahp-session:/s1"


@pytest.fixture
def programs():
    return ScriptedTerminals()


@pytest.fixture
def host(programs):
    host = MemoryHost(terminals=programs)
    yield host
    host.stop()


def joined(host, name):
    client = host.connect(name, ROOT)
    if not host.store.is_open(SESSION):
        host.run(client.request("createSession", channel=SESSION))
    host.run(client.subscribe(SESSION))
    host.run(client.subscribe(chat_of(client)))
    return client


def chat_of(client):
    return client.state(SESSION)["defaultChat"]


def send(host, client, text, turn_id="t1"):
    client.dispatch(
        chat_of(client),
        {
            "type": "chat/turnStarted",
            "turnId": turn_id,
            "startedAt": "2026-01-02T03:04:05.000Z",
            "message": {"text": text, "origin": {"kind": "user"}},
        },
    )
    host.settle()


def terminal_in(client, turn=-1):
    state = client.plain_state(chat_of(client))
    held = state.get("activeTurn") or state["turns"][turn]
    [part] = held["responseParts"]
    return part["toolCall"]["content"][0]["resource"]


def test_everybody_watches_what_it_prints_and_reads_it_later(host, programs):
    one, two = joined(host, "one"), joined(host, "two")
    send(host, one, "!make")
    uri = terminal_in(two)
    host.run(two.subscribe(uri))
    programs.last.prints("built\r\n")
    host.advance(1)
    programs.last.exits(0)
    host.settle()
    assert two.plain_state(uri)["lifecycle"] == {"status": "exited", "exitCode": 0}
    assert two.plain_state(uri)["content"] == [{"type": "unclassified", "value": "built\r\n"}]
    [row] = one.plain_state(ROOT)["terminals"]
    assert row["resource"] == uri
    two.unsubscribe(uri)
    host.settle()
    host.advance(60)
    assert one.plain_state(ROOT)["terminals"] == []
    host.run(one.subscribe(uri))
    assert one.plain_state(uri)["content"] == [{"type": "unclassified", "value": "built\r\n"}]
    host.check()


def test_a_client_that_was_away_comes_back_to_a_terminal_that_is_gone(host, programs):
    one, two = joined(host, "one"), joined(host, "two")
    send(host, one, "!make")
    uri = terminal_in(one)
    host.run(one.subscribe(uri))
    host.cut(one)
    programs.last.prints("built\r\n")
    programs.last.exits(3)
    host.advance(1)
    assert two.plain_state(ROOT)["terminals"] == []
    host.reconnect(one)
    assert one.plain_state(uri)["lifecycle"] == {"status": "exited", "exitCode": 3}
    assert one.plain_state(uri)["content"] == [{"type": "unclassified", "value": "built\r\n"}]
    assert one.plain_state(chat_of(one))["turns"][0]["state"] == "complete"
    host.check()


def test_another_life_of_the_host_reads_the_turn_and_its_terminal(host, programs):
    client = joined(host, "one")
    send(host, client, "!make")
    programs.last.prints("built\r\n")
    programs.last.exits(0)
    host.settle()
    uri, turns = terminal_in(client), client.plain_state(chat_of(client))["turns"]
    kept, clock, ids = host.kept, host.clock, host.ids
    host.check()
    host.stop()
    again = MemoryHost(kept=kept, clock=clock, ids=ids, terminals=programs)
    reader = again.connect("two", ROOT)
    again.run(reader.subscribe(SESSION))
    again.run(reader.subscribe(chat_of(reader)))
    again.run(reader.subscribe(uri))
    assert reader.plain_state(chat_of(reader))["turns"] == turns
    assert reader.plain_state(uri)["lifecycle"] == {"status": "exited", "exitCode": 0}
    again.check()
    again.stop()


def test_a_stopped_commands_terminal_reads_back_exited_with_what_it_had_printed(host, programs):
    client = joined(host, "one")
    send(host, client, "!sleep 100")
    uri = terminal_in(client)
    programs.last.prints("so far\r\n")
    client.dispatch(chat_of(client), {"type": "chat/turnCancelled", "turnId": "t1", "duration": 1})
    host.settle()
    assert not programs.last.runs
    assert client.plain_state(ROOT)["terminals"] == []
    assert terminal_in(client) == uri
    host.run(client.subscribe(uri))
    assert client.plain_state(uri)["lifecycle"] == {"status": "exited"}
    assert client.plain_state(uri)["content"] == [{"type": "unclassified", "value": "so far\r\n"}]
    host.check()


def test_a_disposed_session_takes_the_command_with_it(host, programs):
    client = joined(host, "one")
    send(host, client, "!sleep 100")
    host.run(client.request("disposeSession", channel=SESSION))
    assert not programs.last.runs
    assert client.plain_state(ROOT)["terminals"] == []
