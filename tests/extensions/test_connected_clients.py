"""`x-ahpd-clients`: one row for each connection."""

from datetime import UTC, datetime, timedelta

import pytest

from ahpd.extensions.clients import EVERY, SCHEME, ConnectedClients
from ahpd.extensions.operations import NAME, Invocations
from ahpd.protocol.uris import ROOT
from ahpd.wire.codec import encode

from .conftest import Client

URI = f"{SCHEME}://"
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def clients(rig, access):
    clients = ConnectedClients(
        rig.store, access, rig.clock, lambda: START + timedelta(seconds=rig.clock.seconds())
    )
    clients.attach(rig.extensions.add_channel(SCHEME, clients.channel))
    invocations = Invocations(access)
    rig.extensions.add_method(NAME, invocations.method)
    invocations.register(URI, clients.operations)
    rig.hub.attendance = clients
    yield clients
    clients.stop()
    assert not rig.clock.getDelayedCalls()


def rows(client):
    return {row["id"]: row for row in client.watch(URI)["rows"]}


def settle(rig):
    rig.clock.advance(0)


def test_a_row_says_what_the_connection_said_and_what_its_socket_says(rig, clients, access):
    rig.client("root")
    rig.clock.advance(2.5)
    ada = Client(rig, "ada")
    ada.forwarded_for = "203.0.113.9, not an address"
    ada.hello(
        clientInfo={"name": "phone", "version": "1"}, locale="pt", initialSubscriptions=[ROOT]
    )
    settle(rig)
    row = rows(rig.client("root"))["2"]
    counters = {name: row.pop(name) for name in ("framesIn", "framesOut", "bytesIn", "bytesOut")}
    assert row == {
        "id": "2",
        "socket": 2,
        "connectedAt": int((START.timestamp() + 2.5) * 1000),
        "address": "192.0.2.7",
        "forwardedFor": "203.0.113.9, not an address",
        "clientId": "ada",
        "name": "phone",
        "protocolVersion": "1.0.0",
        "locale": "pt",
        "principal": "user:ada",
        "subscriptions": [ROOT],
        "operations": ["drop"],
    }
    assert (counters["framesIn"], counters["framesOut"]) == (1, 1)
    assert counters["bytesOut"] == len(encode(ada.received[0]))


def test_a_connection_that_said_nothing_yet_is_a_row_too(rig, clients):
    watching = rig.client("root")
    watching.watch(URI)
    Client(rig, "stranger")
    row = watching.actions[-1][1]["row"]
    assert row["id"] == "2"
    assert "clientId" not in row
    assert "principal" not in row


def test_rows_come_move_and_go_with_their_connections(rig, clients):
    watching = rig.client("root")
    watching.watch(URI)
    settle(rig)
    del watching.received[:]
    other = Client(rig, "ada")
    other.hello(initialSubscriptions=[ROOT])
    settle(rig)
    other.unwatch(ROOT)
    settle(rig)
    other.hang_up()
    settle(rig)
    said = [(action["type"].partition("/")[2], action) for _, action in watching.actions]
    assert [name for name, _ in said] == ["added", "changed", "changed", "changed", "removed"]
    assert [action["row"]["subscriptions"] for name, action in said[1:4]] == [[], [ROOT], []]
    assert said[-1][1]["id"] == "2"


def test_what_a_handshake_subscribes_to_is_said_at_once(rig, clients):
    for scheme in ("a", "b", "c"):
        rig.extensions.add_channel(
            f"x-{scheme}", clients.channel.__class__(grant="", snapshot=lambda *_: {})
        )
    watching = rig.client("root")
    watching.watch(URI)
    settle(rig)
    del watching.received[:]
    other = Client(rig, "root:2")
    other.hello(initialSubscriptions=["x-a://", "x-b://", "x-c://"])
    settle(rig)
    assert watching.types == [f"{SCHEME}/{name}" for name in ("added", "changed", "changed")]


def test_reading_it_needs_the_grant_and_it_is_not_narrowed(rig, clients, access):
    ada = rig.client("ada")
    assert ada.refused("subscribe", channel=URI)["code"] == -32009
    access.give("ada", "client:read")
    assert ada.refused("subscribe", channel=f"{URI}?owner=me")["code"] == -32602
    assert len(ada.watch(URI)["rows"]) == 1


# -- counters ------------------------------------------------------------------------------------


def counted(client):
    return [action["row"]["framesIn"] for _, action in client.actions if action["row"]["id"] == "2"]


def test_counters_are_sent_every_five_seconds_while_somebody_reads_the_list(rig, clients):
    watching, other = rig.client("root"), rig.client("root:2")
    watching.watch(URI)
    settle(rig)
    del watching.received[:]
    for _ in range(3):
        other.call("ping", channel=ROOT)
    rig.clock.advance(EVERY - 0.1)
    assert watching.actions == []
    rig.clock.advance(0.1)
    assert counted(watching) == [4]
    rig.clock.advance(EVERY)
    assert counted(watching) == [4]
    other.call("ping", channel=ROOT)
    rig.clock.advance(EVERY)
    assert counted(watching) == [4, 5]


def test_a_second_reader_moves_no_counters_early(rig, clients):
    watching, other = rig.client("root"), rig.client("root:2")
    watching.watch(URI)
    settle(rig)
    del watching.received[:]
    other.call("ping", channel=ROOT)
    other.watch(URI)
    settle(rig)
    assert set(counted(watching)) <= {1}


@pytest.mark.parametrize("how", ["unwatch", "hang_up"])
def test_a_list_nobody_watches_costs_nothing(rig, clients, how):
    watching = rig.client("root")
    watching.watch(URI)
    watching.unwatch(URI) if how == "unwatch" else watching.hang_up()
    settle(rig)
    said = rig.store.server_seq
    other = rig.client("ada", ROOT)
    settle(rig)
    other.hang_up()
    settle(rig)
    assert rig.store.server_seq == said
    assert not rig.clock.getDelayedCalls()


def test_who_held_the_list_and_comes_back_is_given_it_whole(rig, clients):
    watching = rig.client("root")
    watching.watch(URI)
    settle(rig)
    watching.hang_up()
    rig.client("ada")
    back, answer = rig.back("root", rig.store.server_seq, URI)
    assert answer["type"] == "snapshot"
    (snapshot,) = answer["snapshots"]
    assert [row["id"] for row in snapshot["state"]["rows"]] == ["2", "3"]
    rig.client("bob")
    assert f"{SCHEME}/added" in back.types


def test_who_held_the_list_while_another_watched_is_replayed(rig, clients):
    one, two = rig.client("root"), rig.client("root:2")
    one.watch(URI)
    two.watch(URI)
    settle(rig)
    seen = rig.store.server_seq
    two.hang_up()
    rig.client("ada")
    settle(rig)
    _, answer = rig.back("root:2", seen, URI)
    assert answer["type"] == "replay"
    types = [one["action"]["type"].partition("/")[2] for one in answer["actions"]]
    assert {"removed", "added"} <= set(types)


# -- drop -------------------------------------------------------------------------------------------


def drop(client, identifier):
    return client.ask(NAME, channel=URI, operationId="drop", target={"id": identifier})


def test_the_list_offers_one_operation(rig, clients):
    (operation,) = rig.client("root").watch(URI)["operations"]
    assert operation.pop("label")
    assert operation.pop("confirmation")
    assert operation.pop("description")
    assert operation == {
        "id": "drop",
        "kind": "host",
        "scopes": ["client"],
        "grant": "client:drop",
    }


def test_a_drop_answers_before_it_closes(rig, clients):
    other, me = rig.client("ada"), rig.client("root")
    asked = drop(me, "1")
    row = me.answer(asked)["result"]
    assert (row["id"], row["clientId"]) == ("1", "ada")
    assert other.closed is None
    settle(rig)
    assert other.closed is not None
    assert me.closed is None


def test_a_client_that_drops_itself_is_told_what_it_dropped(rig, clients):
    me = rig.client("root")
    asked = drop(me, "1")
    assert me.answer(asked)["result"]["clientId"] == "root"
    settle(rig)
    assert me.closed is not None


def test_a_dropped_client_comes_back_as_a_new_row(rig, clients):
    me, other = rig.client("root"), rig.client("ada")
    drop(me, "2")
    settle(rig)
    other.hang_up()
    rig.client("ada")
    assert set(rows(me)) == {"1", "3"}


def test_a_drop_needs_a_grant_of_the_two(rig, clients, access):
    ada = rig.client("ada")
    assert ada.answer(drop(ada, "1"))["error"]["code"] == -32009
    access.give("ada", "client:drop")
    assert ada.answer(drop(ada, "1"))["result"]["id"] == "1"
    settle(rig)


def test_a_connection_that_is_gone_is_no_row(rig, clients):
    me = rig.client("root")
    assert me.answer(drop(me, "7"))["error"]["message"] == "params.target.id: there is no client 7"
