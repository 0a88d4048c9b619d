"""What an older VS Code window is shown (AHP.txt, "An older VS Code window").

Over real connections: two windows that lack what the newer ones declare, and one that does
not, watch the same host.
"""

import pytest
from zope.interface import implementer

from ahpd.channels.envelope import Envelope
from ahpd.interfaces import IAddresses
from ahpd.peers.older_windows import older_window
from ahpd.protocol.uris import ROOT, default_chat
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.host import MemoryHost

OLD = "scripted:/old"
NEW = "ahp-session:/new"
NO_URIS = {}
NO_CHATS = {"vscode.ahpSessionUris": True}
NO_SESSIONS = {"vscode.ahpChatUris": True}
BOTH = {"vscode.ahpSessionUris": True, "vscode.ahpChatUris": True}
NAME = {"name": "vscode-editor-window"}


@implementer(IAddresses)
class Nothing:
    def session_of(self, channel):
        return None


@pytest.fixture
def memory():
    host = MemoryHost(agents={"scripted": ScriptedAgent()})
    yield host
    host.stop()


def window(host, client_id, meta, *channels):
    return host.connect(client_id, *channels, clientInfo=NAME, _meta=meta)


@pytest.mark.parametrize(
    ("info", "meta", "is_older"),
    [
        (NAME, {}, True),
        (NAME, None, True),
        ({"name": "vscode-agents-window"}, NO_CHATS, True),
        (NAME, NO_SESSIONS, True),
        (NAME, BOTH, False),
        (NAME, {**BOTH, "vscode.ahpChatUris": False}, True),
        ({"name": "another-editor"}, {}, False),
        (None, {}, False),
    ],
)
def test_a_window_that_names_itself_and_does_not_declare_both_is_an_older_one(info, meta, is_older):
    assert (older_window(info, meta, Nothing()) is not None) is is_older


@pytest.mark.parametrize(
    ("meta", "channel", "is_seen"),
    [
        (NO_URIS, ROOT, True),
        (NO_URIS, "ahp-terminal:/1", True),
        (NO_URIS, "ahp-session:/gone", False),
        (NO_URIS, "ahp-session:/gone/annotations", False),
        (NO_URIS, "scripted:/gone", True),
        (NO_URIS, "ahp-chat:/gone", False),
        (NO_URIS, default_chat("ahp-session:/gone"), False),
        (NO_URIS, default_chat("scripted:/gone"), True),
        (NO_SESSIONS, "ahp-chat:/gone", True),
        (NO_CHATS, "ahp-session:/gone", True),
    ],
)
def test_what_belongs_to_no_session_is_judged_by_its_spelling(meta, channel, is_seen):
    assert older_window(NAME, meta, Nothing()).sees(channel) is is_seen


def create(host, probe, session, **params):
    host.run(probe.request("createSession", channel=session, **params))


def started(host, probe, session):
    """A session that was announced; the URI of its first chat."""
    create(host, probe, session)
    chat = host.store.state(session)["defaultChat"]
    probe.dispatch(
        chat,
        {
            "type": "chat/turnStarted",
            "turnId": f"turn-of-{session}",
            "startedAt": "2026-01-02T03:04:05Z",
            "message": {"text": "hello", "origin": {"kind": "user"}},
        },
    )
    host.settle()
    return chat


def listed(host, probe):
    return [row["resource"] for row in host.run(probe.request("listSessions"))["items"]]


def told(probe, method):
    return [params for name, params in probe.notifications if name == method]


def test_a_session_made_by_one_has_the_chat_it_computes(memory):
    old = window(memory, "w", NO_URIS)
    create(memory, old, OLD)
    assert memory.store.state(OLD)["defaultChat"] == default_chat(OLD)
    assert [row["resource"] for row in memory.store.state(OLD)["chats"]] == [default_chat(OLD)]
    newer = window(memory, "n", NO_SESSIONS)
    create(memory, newer, "scripted:/other")
    assert memory.store.state("scripted:/other")["defaultChat"].startswith("ahp-chat:/")


def test_the_root_and_a_listing_show_it_what_it_can_address(memory):
    plain_client = memory.connect("plain", ROOT)
    old = window(memory, "old", NO_URIS, ROOT)
    no_chats = window(memory, "no-chats", NO_CHATS, ROOT)
    no_sessions = window(memory, "no-sessions", NO_SESSIONS, ROOT)
    started(memory, old, OLD)
    started(memory, plain_client, NEW)
    started(memory, plain_client, "scripted:/opaque")
    memory.advance(1)
    everything = ["scripted:/opaque", NEW, OLD]
    assert listed(memory, plain_client) == everything
    assert listed(memory, old) == [OLD]
    assert listed(memory, no_chats) == [OLD]
    assert listed(memory, no_sessions) == ["scripted:/opaque", OLD]
    for probe, seen in (
        (plain_client, [OLD, NEW, "scripted:/opaque"]),
        (old, [OLD]),
        (no_chats, [OLD]),
        (no_sessions, [OLD, "scripted:/opaque"]),
    ):
        added = [params["summary"]["resource"] for params in told(probe, "root/sessionAdded")]
        assert added == seen
        moved = {params["session"] for params in told(probe, "root/sessionSummaryChanged")}
        assert moved <= set(seen)
    for session in (OLD, NEW, "scripted:/opaque"):
        memory.run(plain_client.request("disposeSession", channel=session))
    gone = [params["session"] for params in told(no_chats, "root/sessionRemoved")]
    assert gone == [OLD]
    gone = [params["session"] for params in told(no_sessions, "root/sessionRemoved")]
    assert gone == [OLD, "scripted:/opaque"]


def test_a_page_of_a_listing_is_a_page_of_what_it_sees(memory):
    plain_client, old = memory.connect("plain"), window(memory, "old", NO_URIS)
    for number in range(4):
        started(memory, old if number % 2 else plain_client, f"scripted:/{number}")
        memory.advance(1)
    first = memory.run(old.request("listSessions", limit=1))
    assert [row["resource"] for row in first["items"]] == ["scripted:/3"]
    rest = memory.run(old.request("listSessions", limit=1, cursor=first["nextCursor"]))
    assert [row["resource"] for row in rest["items"]] == ["scripted:/1"]
    assert "nextCursor" not in rest


def test_a_subscription_to_what_it_cannot_address_is_refused(memory):
    plain_client = memory.connect("plain")
    chat = started(memory, plain_client, NEW)
    old = window(memory, "old", NO_URIS)
    other = memory.client("other")
    memory.attach(other)
    first = {"initialSubscriptions": [ROOT, NEW, chat], "clientInfo": NAME, "_meta": NO_URIS}
    answer = memory.run(other.initialize(**first))
    assert [snapshot["resource"] for snapshot in answer["snapshots"]] == [ROOT]
    assert memory.store.watchers(NEW) == memory.store.watchers(chat) == ()
    for channel in (NEW, chat, NEW + "/annotations"):
        with pytest.raises(Exception, match="not found") as refused:
            memory.run(old.request("subscribe", channel=channel))
        assert refused.value.code == -32001
    memory.run(plain_client.subscribe(NEW))
    said = len(old.envelopes())
    plain_client.dispatch(NEW, {"type": "session/titleChanged", "title": "Another"})
    memory.settle()
    assert len(old.envelopes()) == said


def add_chat(host, probe, session, chat):
    host.run(probe.request("createChat", channel=session, chat=chat))


def test_one_without_chat_uris_sees_the_chats_that_name_their_session(memory):
    old = window(memory, "old", NO_URIS)
    create(memory, old, OLD)
    shaped = default_chat(OLD).replace("default", "second")
    other = window(memory, "other", NO_URIS, OLD)
    plain_client = memory.connect("plain", OLD)
    with pytest.raises(Exception, match="Opaque chat URI is not allowed"):
        add_chat(memory, plain_client, OLD, "ahp-chat:/opaque")
    add_chat(memory, plain_client, OLD, shaped)
    assert [said.action["type"] for said in other.envelopes(OLD)] == ["session/chatAdded"]
    late = window(memory, "late", NO_URIS, OLD)
    chats = [row["resource"] for row in late.state(OLD)["chats"]]
    assert chats == [default_chat(OLD), shaped]


@implementer(IAddresses)
class OneSession:
    """Every channel is the session's, whose first chat is a derived one."""

    def session_of(self, channel):
        return OLD, default_chat(OLD)


SHOWN = default_chat(OLD)
HIDDEN = "ahp-chat:/opaque"
MOVED_IN = default_chat("scripted:/elsewhere")


@pytest.mark.parametrize("chat", [SHOWN, HIDDEN, MOVED_IN])
@pytest.mark.parametrize(
    "action",
    [
        lambda chat: {"type": "session/chatAdded", "summary": {"resource": chat}},
        lambda chat: {"type": "session/chatRemoved", "chat": chat},
        lambda chat: {"type": "session/chatUpdated", "chat": chat, "changes": {}},
        lambda chat: {"type": "session/defaultChatChanged", "defaultChat": chat},
    ],
)
def test_a_chat_list_action_is_about_chats_it_can_address(action, chat):
    envelope = Envelope(OLD, action(chat), 7)
    eyes = older_window(NAME, NO_URIS, OneSession())
    assert eyes.projected(envelope) is (envelope if chat == SHOWN else None)
    assert older_window(NAME, NO_SESSIONS, OneSession()).projected(envelope) is envelope


def test_an_order_names_the_chats_it_can_address_under_the_same_number():
    origin = {"clientId": "c", "clientSeq": 3}
    order = {"type": "session/chatsReordered", "chats": [HIDDEN, SHOWN, MOVED_IN]}
    eyes = older_window(NAME, NO_CHATS, OneSession())
    shown = eyes.projected(Envelope(OLD, order, 7, origin))
    assert (shown.seq, shown.origin, shown.channel) == (7, origin, OLD)
    assert shown.action == {"type": "session/chatsReordered", "chats": [SHOWN]}


def test_nothing_is_said_to_it_on_a_chat_it_cannot_address():
    said = Envelope(HIDDEN, {"type": "chat/activityChanged"}, 7)
    assert older_window(NAME, NO_URIS, OneSession()).projected(said) is None
    assert older_window(NAME, NO_SESSIONS, OneSession()).projected(said) is said


def test_a_state_and_a_row_list_the_chats_it_can_address():
    held = {"resource": OLD, "chats": [{"resource": chat} for chat in (SHOWN, HIDDEN)]}
    eyes = older_window(NAME, NO_URIS, OneSession())
    assert eyes.shown_state(OLD, held)["chats"] == [{"resource": SHOWN}]
    assert eyes.shown_row({**held, "defaultChat": SHOWN})["chats"] == [{"resource": SHOWN}]
    assert eyes.shown_row({**held, "defaultChat": HIDDEN}) is None
    assert len(held["chats"]) == 2


def test_coming_back_it_is_judged_by_what_it_says_then(memory):
    plain_client = memory.connect("plain")
    started(memory, plain_client, NEW)
    newer = window(memory, "w", BOTH, NEW)
    memory.cut(newer)
    plain_client.dispatch(NEW, {"type": "session/titleChanged", "title": "Meanwhile"})
    memory.settle()
    memory.attach(newer)
    back = memory.run(newer.reconnect())
    assert back.type == "replay"
    assert back.missing == (NEW,)
    assert [said.action for said in back.actions] == []


def test_a_newer_window_that_says_so_again_is_replayed_what_it_missed(memory):
    plain_client = memory.connect("plain")
    started(memory, plain_client, NEW)
    newer = window(memory, "w", BOTH, NEW)
    memory.cut(newer)
    plain_client.dispatch(NEW, {"type": "session/titleChanged", "title": "Meanwhile"})
    memory.settle()
    memory.attach(newer)
    back = memory.run(newer.reconnect(_meta=BOTH))
    assert back.missing == ()
    assert back.actions[0].action == {"type": "session/titleChanged", "title": "Meanwhile"}


def test_a_chat_is_not_moved_to_a_session_it_cannot_see(memory):
    plain_client, old = memory.connect("plain"), window(memory, "old", NO_URIS)
    chat = started(memory, plain_client, NEW)
    ask = old.request("moveChat", channel=chat, destination={"kind": "session", "session": NEW})
    with pytest.raises(Exception, match=f"Session not found: {NEW}") as refused:
        memory.run(ask)
    assert refused.value.code == -32001
