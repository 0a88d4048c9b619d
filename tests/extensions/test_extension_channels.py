"""`x-` channels: who is let in, what is read, who is told (PLUGINS.txt, "A channel of your own")."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.interfaces import Channel, Description, Owned, Reader
from ahpd.protocol.errors import RpcError
from ahpd.protocol.uris import ChannelKind, kind_of

from .conftest import Notes

URI = "x-notes://"


def channel(notes, **more):
    more.setdefault("grant", "notes:read")
    more.setdefault("snapshot", notes.snapshot)
    return Channel(joined=notes.joined.append, left=notes.left.append, **more)


@pytest.fixture
def notes():
    return Notes(notes=["first"])


@pytest.fixture
def handle(rig, notes):
    return rig.extensions.add_channel("x-notes", channel(notes))


def added(note):
    return {"type": "x-notes/added", "note": note}


# -- the URI -------------------------------------------------------------------------------


def test_a_scheme_that_begins_with_x_is_an_extensions_whatever_follows():
    for uri in ("x-notes://", "x-notes:/a/annotations", "X-Notes://a", "x-notes:/s/changeset/1"):
        assert kind_of(uri) is ChannelKind.EXTENSION
    assert kind_of("xnotes:/1") is ChannelKind.SESSION


def test_a_scheme_nobody_serves_is_refused_as_any_unknown_channel_is(rig):
    error = rig.client("ada").refused("subscribe", channel="x-nothing://")
    assert (error["code"], error["message"]) == (-32001, "Resource not found: x-nothing://")


def test_the_channel_without_a_path_has_one_spelling_of_its_several(rig, handle):
    client = rig.client("root")
    for spelling in ("x-notes:", "X-NOTES:/", "x-notes:///"):
        client.watch(spelling)
    handle.publish("x-notes:", added("second"))
    assert client.actions == [(URI, added("second"))]


# -- who is let in ---------------------------------------------------------------------------


def test_who_does_not_hold_the_grant_is_refused_in_the_hosts_words(rig, handle):
    error = rig.client("ada").refused("subscribe", channel=URI)
    assert (error["code"], error["message"]) == (-32009, "ada may not notes:read here")
    assert error["data"] == {}


def test_whoever_was_refused_is_sent_nothing(rig, handle):
    client = rig.client("ada")
    client.refused("subscribe", channel=URI)
    handle.publish(URI, added("secret"))
    assert client.actions == []


def test_authorize_is_asked_only_about_who_does_not_hold_the_grant(rig, notes, access):
    asked = []

    def authorize(uri, caller):
        asked.append((uri, caller.client, caller.reader))
        return caller.client == "ada"

    rig.extensions.add_channel("x-notes", channel(notes, authorize=authorize))
    access.give("eve", "notes:read")
    assert rig.client("ada").watch(URI) == {"notes": ["first"]}
    assert rig.client("eve").watch(URI) == {"notes": ["first"]}
    assert rig.client("bob").refused("subscribe", channel=URI)["code"] == -32009
    assert asked == [
        (URI, "ada", Reader(principal="user:ada")),
        (URI, "bob", Reader(principal="user:bob")),
    ]


def test_authorize_may_take_its_time(rig, notes):
    waiting = {}

    async def authorize(uri, caller):
        waiting[caller.client] = Deferred()
        return await waiting[caller.client]

    rig.extensions.add_channel("x-notes", channel(notes, authorize=authorize))
    ada, bob = rig.client("ada"), rig.client("bob")
    first, second = ada.ask("subscribe", channel=URI), bob.ask("subscribe", channel=URI)
    assert ada.answer(first) is None
    waiting["ada"].callback(True)
    waiting["bob"].callback(False)
    assert ada.answer(first)["result"]["snapshot"]["state"] == {"notes": ["first"]}
    assert bob.answer(second)["error"]["code"] == -32009


@pytest.mark.parametrize("answer", [1, "yes", None])
def test_only_true_lets_somebody_in(rig, notes, answer):
    rig.extensions.add_channel("x-notes", channel(notes, authorize=lambda uri, caller: answer))
    assert rig.client("ada").refused("subscribe", channel=URI)["code"] == -32009


@pytest.mark.logs_failures
def test_an_authorize_that_raises_lets_nobody_in(rig, notes, caught_failures):
    def authorize(uri, caller):
        raise LookupError("the database holds secrets")

    rig.extensions.add_channel("x-notes", channel(notes, authorize=authorize))
    error = rig.client("ada").refused("subscribe", channel=URI)
    assert (error["code"], "secrets" in error["message"]) == (-32009, False)
    assert len(caught_failures(LookupError)) == 1


def test_an_authorize_may_refuse_in_words_of_its_own(rig, notes):
    def authorize(uri, caller):
        raise RpcError(-32008, "there is no such notebook")

    rig.extensions.add_channel("x-notes", channel(notes, authorize=authorize))
    error = rig.client("ada").refused("subscribe", channel=URI)
    assert (error["code"], error["message"]) == (-32008, "there is no such notebook")


def test_an_open_host_lets_everybody_in(rig, handle):
    assert rig.client("root").watch(URI) == {"notes": ["first"]}


# -- what is read ------------------------------------------------------------------------------


def test_the_snapshot_is_told_who_asks(rig, handle, notes, access):
    access.give("ada", "notes:read")
    rig.client("ada:phone", locale="pt").watch("x-notes://work")
    uri, caller = notes.asked[0]
    assert uri == "x-notes://work"
    assert (caller.client, caller.locale, caller.owner) == ("ada:phone", "pt", "user:ada")
    assert caller.reader == Reader(principal="user:ada")


def test_a_snapshot_may_refuse_its_uri(rig, notes):
    def snapshot(uri, caller):
        raise RpcError(-32008, f"no notebook {uri}")

    rig.extensions.add_channel("x-notes", channel(notes, grant="", snapshot=snapshot))
    client = rig.client("ada")
    assert client.refused("subscribe", channel=URI)["message"] == f"no notebook {URI}"
    assert notes.joined == []
    assert rig.store.watchers(URI) == ()


@pytest.mark.logs_failures
@pytest.mark.parametrize("state", [[1], None, {"a": object()}])
def test_a_state_that_is_no_json_object_is_an_error_in_safe_words(
    rig, notes, state, caught_failures
):
    rig.extensions.add_channel("x-notes", channel(notes, grant="", snapshot=lambda *_: state))
    error = rig.client("ada").refused("subscribe", channel=URI)
    assert error["code"] == -32603
    assert error["message"] == f"{URI} could not be read; the host's log says why"
    assert rig.store.watchers(URI) == ()
    assert caught_failures()


def test_a_snapshot_and_what_is_said_while_it_is_read_reach_a_client_in_order(rig, notes):
    reading = Deferred()
    handle = rig.extensions.add_channel(
        "x-notes", channel(notes, grant="", snapshot=lambda uri, caller: reading)
    )
    client = rig.client("ada")
    handle.publish(URI, added("before"))
    asked = client.ask("subscribe", channel=URI)
    handle.publish(URI, added("meanwhile"))
    assert client.actions == []
    reading.callback({"notes": ["before"]})
    handle.publish(URI, added("after"))
    snapshot = client.answer(asked)["result"]["snapshot"]
    assert (snapshot["state"], snapshot["fromSeq"]) == ({"notes": ["before"]}, 1)
    assert client.actions == [(URI, added("meanwhile")), (URI, added("after"))]
    kinds = [m.get("method", "answer") for m in client.received[1:]]
    assert kinds == ["answer", "action", "action"]


def test_what_is_said_meanwhile_to_others_is_not_caught_up_with(rig, notes, access):
    access.give("ada", "notes:read")
    reading = Deferred()
    handle = rig.extensions.add_channel("x-notes", channel(notes, snapshot=lambda *_: reading))
    client = rig.client("ada")
    client.ask("subscribe", channel=URI)
    handle.publish(URI, added("for bob"), to="bob")
    handle.publish(URI, added("for eve"), visible=lambda reader, c: reader.principal == "user:eve")
    handle.publish(URI, added("for ada"), to="ada")
    reading.callback({})
    assert client.actions == [(URI, added("for ada"))]


def test_a_sync_snapshot_that_speaks_holds_what_it_said(rig, notes):
    def snapshot(uri, caller):
        handle.publish(URI, added("by the snapshot"))
        return {"notes": ["by the snapshot"]}

    handle = rig.extensions.add_channel("x-notes", channel(notes, grant="", snapshot=snapshot))
    client = rig.client("ada")
    assert client.watch(URI) == {"notes": ["by the snapshot"]}
    assert client.actions == []


def test_a_state_is_what_it_was_when_it_was_read(rig, notes):
    state = {"notes": []}
    rig.extensions.add_channel("x-notes", channel(notes, grant="", snapshot=lambda *_: state))
    client = rig.client("ada")
    client.watch(URI)
    state["notes"].append("later")
    assert client.received[-1]["result"]["snapshot"]["state"] == {"notes": []}


def test_an_unsubscribe_takes_the_place_of_a_subscribe_that_waits(rig, notes):
    reading = Deferred()
    rig.extensions.add_channel("x-notes", channel(notes, grant="", snapshot=lambda *_: reading))
    client = rig.client("ada")
    asked = client.ask("subscribe", channel=URI)
    client.unwatch(URI)
    reading.callback({})
    assert client.answer(asked)["error"]["message"] == f"Subscription cancelled: {URI}"
    assert rig.store.watchers(URI) == ()


def test_a_client_that_went_while_it_was_read_watches_nothing(rig, notes):
    reading = Deferred()
    rig.extensions.add_channel("x-notes", channel(notes, grant="", snapshot=lambda *_: reading))
    client = rig.client("ada")
    client.ask("subscribe", channel=URI)
    client.hang_up()
    reading.callback({})
    assert rig.store.watchers(URI) == ()
    assert notes.joined == []


def test_a_channel_that_went_while_it_was_read_is_not_joined(rig, notes):
    reading = Deferred()
    contributed = {"x-notes": Owned("notes", channel(notes, grant="", snapshot=lambda *_: reading))}
    rig.extensions.contributed_channels(contributed)
    client = rig.client("ada")
    asked = client.ask("subscribe", channel=URI)
    rig.extensions.contributed_channels({})
    reading.callback({})
    assert client.answer(asked)["error"]["code"] in (-32001, -32603)
    assert rig.store.watchers(URI) == ()


# -- initialize -------------------------------------------------------------------------------


def test_first_subscriptions_come_with_their_snapshots(rig, handle, access):
    access.give("ada", "notes:read")
    client = rig.stranger("ada")
    answer = client.hello(initialSubscriptions=[URI, "x-nothing://"])
    assert [(one["resource"], one["state"]) for one in answer["snapshots"]] == [
        (URI, {"notes": ["first"]})
    ]
    handle.publish(URI, added("second"))
    assert client.actions == [(URI, added("second"))]


def test_a_first_subscription_that_is_refused_is_not_subscribed(rig, handle):
    client = rig.stranger("ada")
    assert client.hello(initialSubscriptions=[URI])["snapshots"] == []
    handle.publish(URI, added("secret"))
    assert client.actions == []


def test_first_subscriptions_may_take_their_time_together(rig, notes):
    readings = {"x-notes://a": Deferred(), "x-notes://b": Deferred()}
    handle = rig.extensions.add_channel(
        "x-notes", channel(notes, grant="", snapshot=lambda uri, caller: readings[uri])
    )
    client = rig.stranger("ada")
    asked = client.ask(
        "initialize",
        channel="ahp-root://",
        protocolVersions=["1.0.0"],
        clientId="ada",
        initialSubscriptions=list(readings),
    )
    readings["x-notes://a"].callback({"of": "a"})
    handle.publish("x-notes://a", added("meanwhile"))
    assert client.answer(asked) is None
    readings["x-notes://b"].callback({"of": "b"})
    snapshots = client.answer(asked)["result"]["snapshots"]
    assert [one["state"] for one in snapshots] == [{"of": "a"}, {"of": "b"}]
    assert client.actions == [("x-notes://a", added("meanwhile"))]


# -- what is said ---------------------------------------------------------------------------------


def test_an_action_reaches_every_subscriber_of_its_uri_and_no_other(rig, handle, access):
    access.give("ada", "notes:read")
    access.give("bob", "notes:read")
    ada, bob = rig.client("ada"), rig.client("bob")
    ada.watch(URI)
    bob.watch("x-notes://work")
    handle.publish("x-notes://work", added("second"))
    assert (ada.actions, bob.actions) == ([], [("x-notes://work", added("second"))])


def test_the_numbers_are_the_hosts_whoever_is_told(rig, handle, access):
    access.give("ada", "notes:read")
    client = rig.client("ada")
    client.watch(URI)
    for who in (None, "bob", "ada"):
        handle.publish(URI, added(who), to=who)
    handle.publish("x-notes://nobody", added("unheard"))
    numbers = [m["params"]["serverSeq"] for m in client.received if m.get("method") == "action"]
    assert numbers == [1, 3]
    assert rig.store.server_seq == 4


def test_visible_is_asked_of_each_subscriber(rig, handle, access):
    for person in ("ada", "bob"):
        access.give(person, "notes:read")
    ada, bob, root = rig.client("ada"), rig.client("bob:tv"), rig.client("root")
    for client in (ada, bob, root):
        client.watch(URI)
    asked = []

    def visible(reader, client):
        asked.append((reader and reader.principal, client))
        return client != "ada"

    handle.publish(URI, added("hidden"), visible=visible)
    assert [len(client.actions) for client in (ada, bob, root)] == [0, 1, 1]
    assert asked == [("user:ada", "ada"), ("user:bob", "bob:tv"), (None, "root")]


@pytest.mark.logs_failures
def test_a_visible_that_raises_shows_nothing_and_is_logged_once(rig, handle, caught_failures):
    client = rig.client("root")
    client.watch(URI)

    def visible(reader, client):
        raise KeyError("whose")

    for _ in range(3):
        handle.publish(URI, added("hidden"), visible=visible)
    assert client.actions == []
    assert len(caught_failures(KeyError)) == 1


@pytest.mark.logs_failures
def test_a_visible_that_has_to_be_awaited_shows_nothing(rig, handle, caught_failures):
    client = rig.client("root")
    client.watch(URI)

    async def visible(reader, client):
        return True

    handle.publish(URI, added("hidden"), visible=visible)
    assert client.actions == []
    assert len(caught_failures(TypeError)) == 1


@pytest.mark.parametrize(
    ("uri", "action"),
    [
        (URI, {"type": "x-other/added"}),
        (URI, {"type": "x-notes"}),
        (URI, {"note": 1}),
        (URI, "x-notes/added"),
        (URI, {"type": "x-notes/added", "note": object()}),
        ("x-other://", {"type": "x-notes/added"}),
        (None, {"type": "x-notes/added"}),
        (f"{URI}\ud800", {"type": "x-notes/added"}),
        (URI, {"type": "x-notes/\ud800"}),
    ],
)
def test_what_may_not_be_published_raises_at_the_publisher(rig, handle, uri, action):
    with pytest.raises(ValueError, match="x-notes"):
        handle.publish(uri, action)
    assert rig.store.server_seq == 0


@pytest.mark.parametrize("narrowed", [{}, {"to": "root"}])
def test_what_in_an_action_cannot_be_said_is_named_at_the_publisher(rig, handle, narrowed):
    action = {"type": "x-notes/added", "note": {"tags": ["a", "\ud800"]}}
    with pytest.raises(ValueError, match=r"action\.note\.tags\[1\]: .*half a character"):
        handle.publish(URI, action, **narrowed)
    assert rig.store.server_seq == 0


@pytest.mark.logs_failures
def test_what_in_a_state_cannot_be_said_is_named_in_the_log(rig, notes, caught_failures):
    state = {"notes": [{"text": "\ud800"}]}
    rig.extensions.add_channel("x-notes", channel(notes, grant="", snapshot=lambda *_: state))
    assert rig.client("ada").refused("subscribe", channel=URI)["code"] == -32603
    [failure] = caught_failures(ValueError)
    assert "state.notes[0].text: expected a text, found half a character" in str(failure)


def test_what_was_published_is_the_hosts_own_copy(rig, handle):
    client = rig.client("root")
    client.watch(URI)
    action = {"type": "x-notes/added", "note": {"text": "a"}}
    rig.store.behind(lambda: (handle.publish(URI, action), action["note"].update(text="b")))
    assert client.actions[0][1]["note"] == {"text": "a"}


def test_subscribers_are_named_once_for_each_client_and_person(rig, handle, access):
    access.give("ada", "notes:read")
    for name in ("ada", "ada", "root"):
        rig.client(name).watch(URI)
    found = handle.subscribers(URI)
    assert [(one.client, one.reader and one.reader.principal) for one in found] == [
        ("ada", "user:ada"),
        ("root", None),
    ]
    assert list(handle.subscribers("x-notes://other")) == []


# -- who comes and goes ---------------------------------------------------------------------------


def test_joined_is_told_of_the_first_watcher_of_a_uri(rig, handle, notes):
    first, second = rig.client("root"), rig.client("root:2")
    first.watch(URI)
    second.watch(URI)
    first.watch("x-notes://work")
    assert notes.joined == [URI, "x-notes://work"]
    first.unwatch(URI)
    second.unwatch(URI)
    second.watch(URI)
    assert notes.joined == [URI, "x-notes://work", URI]


def test_left_is_told_once_a_client_watches_nothing_of_the_scheme_anywhere(rig, handle, notes):
    one, two = rig.client("root"), rig.client("root")
    one.watch(URI)
    one.watch("x-notes://work")
    two.watch(URI)
    one.unwatch("x-notes://work")
    one.unwatch(URI)
    assert notes.left == []
    two.hang_up()
    assert notes.left == ["root"]
    one.watch(URI)
    one.hang_up()
    assert notes.left == ["root", "root"]


@pytest.mark.logs_failures
def test_a_joined_or_left_that_fails_keeps_nobody_out(rig, caught_failures):
    def fail(of):
        raise OSError(of)

    rig.extensions.add_channel(
        "x-notes", Channel(grant="", snapshot=lambda *_: {}, joined=fail, left=fail)
    )
    client = rig.client("root")
    client.watch(URI)
    client.unwatch(URI)
    assert len(caught_failures(OSError)) == 2
    assert rig.store.watchers(URI) == ()


# -- what a client may not do ------------------------------------------------------------------------


@pytest.mark.parametrize("type_", ["x-notes/added", "chat/turnCancelled", "root/configChanged"])
def test_a_clients_action_is_refused_and_told_to_it_alone(rig, handle, type_):
    mine, other = rig.client("root"), rig.client("root:2")
    mine.watch(URI)
    other.watch(URI)
    action = {"type": type_}
    mine.tell("dispatchAction", channel=URI, clientSeq=1, action=action)
    envelope = mine.received[-1]["params"]
    assert envelope["rejectionReason"] == f"{URI} takes no actions of clients"
    assert envelope["origin"] == {"clientId": "root", "clientSeq": 1}
    assert other.actions == []


# -- coming back --------------------------------------------------------------------------------------


def seen(client):
    return max(
        (m["params"]["serverSeq"] for m in client.received if m.get("method") == "action"),
        default=0,
    )


def test_a_client_that_comes_back_is_replayed_what_it_is_for(rig, handle, access):
    for person in ("ada", "bob"):
        access.give(person, "notes:read")
    ada = rig.client("ada")
    ada.watch(URI)
    handle.publish(URI, added("seen"))
    ada.hang_up()
    allowed = {"user:ada"}

    def visible(reader, client):
        return reader.principal in allowed

    handle.publish(URI, added("for all"))
    handle.publish(URI, added("for bob"), to="bob")
    handle.publish(URI, added("for ada"), to="ada")
    handle.publish(URI, added("hidden"), visible=visible)
    allowed.clear()
    handle.publish(URI, added("shown"), visible=lambda reader, client: client == "ada")
    _, answer = rig.back("ada", seen(ada), URI)
    assert answer["type"] == "replay"
    assert [one["action"]["note"] for one in answer["actions"]] == ["for all", "for ada", "shown"]


def test_whoever_lost_the_grant_meanwhile_is_told_that_the_channel_is_missing(rig, handle, access):
    access.give("ada", "notes:read")
    ada = rig.client("ada")
    ada.watch(URI)
    handle.publish(URI, added("one"))
    ada.hang_up()
    access.take("ada", "notes:read")
    handle.publish(URI, added("secret"))
    back, answer = rig.back("ada", 1, URI)
    assert (answer["missing"], answer["actions"]) == ([URI], [])
    handle.publish(URI, added("secret too"))
    assert back.actions == []


def test_a_channel_that_was_registered_anew_owes_whoever_held_it_a_snapshot(rig, notes, access):
    access.give("ada", "notes:read")
    rig.extensions.contributed_channels({"x-notes": Owned("notes", channel(notes))})
    here, away = rig.client("ada"), rig.client("ada:away")
    here.watch(URI)
    away.watch(URI)
    old = rig.extensions.handle("x-notes")
    old.publish(URI, added("one"))
    away.hang_up()
    again = Notes(notes=["of the second"])
    rig.extensions.contributed_channels({"x-notes": Owned("notes", channel(again))})
    with pytest.raises(RuntimeError, match="x-notes"):
        old.publish(URI, added("two"))
    assert old.subscribers(URI) == ()
    new = rig.extensions.handle("x-notes")
    new.publish(URI, added("two"))
    assert here.actions == [(URI, added("one"))]
    for name in ("ada", "ada:away"):
        _, answer = rig.back(name, 1, URI)
        assert answer["type"] == "snapshot"
        assert answer["snapshots"][0]["state"] == {"notes": ["of the second"]}


def test_a_contribution_that_stays_as_it_was_keeps_its_subscribers(rig, notes):
    contributed = {"x-notes": Owned("notes", channel(notes, grant=""))}
    rig.extensions.contributed_channels(contributed)
    client = rig.client("root")
    client.watch(URI)
    rig.extensions.contributed_channels(dict(contributed))
    rig.extensions.handle("x-notes").publish(URI, added("two"))
    assert client.actions == [(URI, added("two"))]


def test_a_client_that_comes_back_with_another_language_reads_anew(rig, handle):
    client = rig.client("root", locale="en")
    client.watch(URI)
    client.hang_up()
    _, answer = rig.back("root", 0, URI, _meta={"ahpd.locale": "en"})
    assert answer["type"] == "replay"
    _, answer = rig.back("root", 0, URI, _meta={"ahpd.locale": "pt"})
    assert answer["type"] == "snapshot"


# -- who holds a name ------------------------------------------------------------------------------------


def test_a_plugin_takes_no_scheme_of_the_hosts_and_none_that_is_no_x(rig, handle, notes):
    theirs = {
        "x-notes": Owned("thief", channel(notes)),
        "notes": Owned("thief", channel(notes)),
        "x-Other": Owned("thief", channel(notes)),
        "x-mine": Owned("honest", channel(notes)),
    }
    for _ in range(2):
        rig.extensions.contributed_channels(theirs)
    assert rig.extensions.handle("x-notes") is handle
    assert rig.extensions.handle("x-mine") is not None
    assert rig.dropped == [
        ("thief", "the channel x-notes is left out: this host serves it already"),
        ("thief", "the channel notes is left out: a channel's scheme is x- and lower case"),
        ("thief", "the channel x-Other is left out: a channel's scheme is x- and lower case"),
    ]
    with pytest.raises(ValueError, match="the plugin honest serves it already"):
        rig.extensions.add_channel("x-mine", channel(notes))


@pytest.mark.logs_failures
def test_channels_are_described_by_their_words_or_their_scheme(rig, notes, caught_failures):
    def broken():
        raise OSError("no words")

    rig.extensions.contributed_channels(
        {
            "x-a": Owned(
                "p", channel(notes, describe=lambda: Description(title="A", description="B"))
            ),
            "x-b": Owned("p", channel(notes)),
            "x-c": Owned("p", channel(notes, describe=broken)),
        }
    )
    assert rig.extensions.described() == {
        "ahpd.channels": [
            {"scheme": "x-a", "title": "A", "description": "B", "grant": "notes:read"},
            {"scheme": "x-b", "title": "x-b", "grant": "notes:read"},
            {"scheme": "x-c", "title": "x-c", "grant": "notes:read"},
        ]
    }
    assert len(caught_failures(OSError)) == 1
