"""Sessions and chats by the names clients call them, over whole connections.

AHP.txt, "Session URIs", "Chat URIs", "An action naming nothing here" and `initialize`.
"""

import pytest
from twisted.internet.defer import Deferred

from ahpd.interfaces import AgentAbilities, AgentFailure
from ahpd.protocol.errors import SESSION_NOT_FOUND, RpcError
from ahpd.protocol.uris import ROOT, default_chat
from ahpd.testing.agents import ConversationsAgent, Gate, ScriptedAgent
from ahpd.testing.host import MemoryHost

S1, MINE = "ahp-session:/s1", "mine:/s2"
OLD = {"clientInfo": {"name": "vscode-editor-window"}}
MARK = {
    "id": "a1",
    "origin": {"kind": "user"},
    "resource": "file:///x",
    "resolved": False,
    "entries": [],
}


@pytest.fixture
def agent():
    return ConversationsAgent(abilities=AgentAbilities(reopens=True))


@pytest.fixture
def host(agent):
    host = MemoryHost(agents={"scripted": agent})
    yield host
    host.stop()


def create(host, probe, session=S1, **params):
    host.run(probe.request("createSession", channel=session, **params))
    return host.store.state(session)["defaultChat"]


def turn(host, probe, chat, number=1, text="hello"):
    probe.dispatch(
        chat,
        {
            "type": "chat/turnStarted",
            "turnId": f"turn-{number}",
            "startedAt": "2026-01-02T03:04:05.000Z",
            "message": {"text": text, "origin": {"kind": "user"}},
        },
    )
    host.settle()


def refused(host, work):
    with pytest.raises(RpcError) as refusal:
        host.run(work)
    return refusal.value


def titles(probe, channel=None):
    return [
        (envelope.channel, envelope.action["title"])
        for envelope in probe.envelopes(channel)
        if envelope.action["type"] == "session/titleChanged"
    ]


# -- one session, several spellings ---------------------------------------------------------


@pytest.mark.parametrize("spelling", ["ahp-session:/s2", "scripted:/s2", "mine:s2"])
def test_a_subscribe_is_answered_as_it_was_spelled_and_told_under_the_sessions_own_name(
    host, spelling
):
    maker, other = host.connect("maker"), host.connect("other")
    create(host, maker, MINE)
    snapshot = host.run(other.request("subscribe", channel=spelling))["snapshot"]
    assert snapshot["resource"] == spelling
    maker.dispatch(MINE, {"type": "session/titleChanged", "title": "T"})
    other.dispatch(spelling, {"type": "session/titleChanged", "title": "U"})
    host.settle()
    assert titles(other) == [(MINE, "T"), (MINE, "U")]


def test_a_derived_chat_of_any_spelling_is_the_default_chat_of_a_session_that_has_one(host):
    window = host.connect("w", **OLD)
    chat = create(host, window, "scripted:/s3")
    assert chat == default_chat("scripted:/s3")
    other = host.connect("other")
    for spelling in ("ahp-session:/s3", "scripted:/s3"):
        named = default_chat(spelling)
        snapshot = host.run(other.request("subscribe", channel=named))["snapshot"]
        assert snapshot["resource"] == named
        assert len(host.store.watchers(chat)) == 1
        other.unsubscribe(named)
        host.settle()
        assert host.store.watchers(chat) == ()


def test_an_opaque_chat_is_of_no_session_of_its_id(host):
    probe = host.connect("one")
    create(host, probe)
    error = refused(host, probe.request("subscribe", channel="ahp-chat:/s1"))
    assert (error.code, error.message) == (SESSION_NOT_FOUND, "Resource not found: ahp-chat:/s1")
    error = refused(host, probe.request("subscribe", channel=default_chat(S1)))
    assert error.message == f"Resource not found: {default_chat(S1)}", "its chat is another"


def test_what_nobody_has_is_refused_in_its_words(host):
    probe = host.connect("one")
    for channel in ("ahp-session:/nobody", "scripted:/nobody", default_chat("ahp-session:/nobody")):
        error = refused(host, probe.request("subscribe", channel=channel))
        assert error.code == SESSION_NOT_FOUND
        assert error.message == f"Resource not found: {channel}"


def test_flags_of_a_session_nobody_has_are_dropped_and_anything_else_is_refused(host):
    probe = host.connect("one", ROOT)
    gone = "ahp-session:/nobody"
    actions = [
        {"type": "session/isReadChanged", "isRead": True},
        {"type": "session/isArchivedChanged", "isArchived": True},
        {"type": "session/titleChanged", "title": "T"},
        {"type": "session/configChanged", "config": {}},
        {"type": "session/activeClientSet", "activeClient": {"clientId": "one"}},
        {"type": "chat/draftChanged"},
    ]
    for action in actions:
        probe.dispatch(gone, action)
    host.settle()
    reasons = {e.action["type"]: e.rejection for e in probe.envelopes(gone)}
    assert reasons == {
        "session/titleChanged": f"Session not found: {gone}",
        "session/configChanged": f"Session not found: {gone}",
        "session/activeClientSet": f"No agent for session: {gone}",
        "chat/draftChanged": f"Session not found: {gone}",
    }
    assert host.run(probe.request("listSessions"))["items"] == []


# -- looked for before it is called unknown -----------------------------------------------------


@pytest.fixture
def late(host, agent):
    """A client, and a conversation its backend took up since it was last asked."""
    probe = host.connect("one", ROOT)
    host.advance(5)
    agent.keep("conv-1", title="Found")
    return probe


L1 = "ahp-session:/conv-1"


@pytest.mark.parametrize("channel", [L1, "scripted:/conv-1", default_chat(L1), L1 + "/annotations"])
def test_a_subscribe_to_what_a_backend_took_up_since_finds_it(host, late, channel):
    snapshot = host.run(late.request("subscribe", channel=channel))["snapshot"]
    assert snapshot["resource"] == channel
    assert host.store.state(L1)["title"] == "Found"


def test_an_action_on_what_a_backend_took_up_since_is_applied(host, late):
    late.dispatch(L1, {"type": "session/isArchivedChanged", "isArchived": True})
    host.settle()
    [row] = host.run(late.request("listSessions"))["items"]
    assert row["resource"] == L1
    assert row["status"] & 64


def test_a_reconnect_finds_it_too(host, late):
    host.cut(late)
    host.attach(late)
    host.run(late.reconnect(subscriptions=[ROOT, L1, "ahp-session:/nobody"]))
    assert late.subscriptions == [ROOT]
    assert [len(host.store.watchers(channel)) for channel in (L1, "ahp-session:/nobody")] == [1, 0]


def test_whoever_gives_up_meanwhile_is_told_so(host, late, agent):
    agent.list_gate = Gate()
    answers = []
    asked = Deferred.fromCoroutine(late.request("subscribe", channel=L1))
    asked.addErrback(lambda failure: answers.append(failure.value.message))
    host.settle()
    late.unsubscribe(L1)
    host.settle()
    agent.list_gate.open()
    host.settle()
    assert answers == [f"Subscription cancelled: {L1}"]


def test_a_backend_that_does_not_say_is_not_waited_for_long(host, late, agent):
    agent.list_gate = Gate()
    answers = []
    asked = Deferred.fromCoroutine(late.request("subscribe", channel="ahp-session:/nobody"))
    asked.addErrback(lambda failure: answers.append(failure.value.message))
    host.advance(4)
    assert answers == []
    host.advance(2)
    assert answers == ["Resource not found: ahp-session:/nobody"]
    agent.list_gate.open()
    host.settle()


def test_asked_a_moment_ago_it_is_not_asked_again(host, late, agent):
    asked = []
    list_conversations = agent.list_conversations

    async def counted():
        asked.append(1)
        return await list_conversations()

    agent.list_conversations = counted
    for _ in range(3):
        refused(host, late.request("subscribe", channel="ahp-session:/nobody"))
    assert len(asked) == 1


# -- first subscriptions --------------------------------------------------------------------------


def test_a_first_subscription_leaves_a_session_asleep_and_is_owed_its_state():
    agent = ScriptedAgent(abilities=AgentAbilities(reopens=True))
    host = MemoryHost(agents={"scripted": agent})
    maker = host.connect("maker")
    chat = create(host, maker)
    turn(host, maker, chat)
    host.cut(maker)
    for _ in range(8):
        host.advance(600)
    assert not host.store.is_open(S1)
    probe = host.client("late")
    host.attach(probe)
    result = host.run(probe.initialize(subscriptions=[ROOT, S1, chat]))
    assert [snapshot["resource"] for snapshot in result["snapshots"]] == [ROOT]
    assert not host.store.is_open(S1)
    marks = host.client("marks")
    host.attach(marks)
    result = host.run(marks.initialize(subscriptions=[S1 + "/annotations"]))
    # They are answered as a subscribe answers them, which wakes their session.
    assert [snapshot["resource"] for snapshot in result["snapshots"]] == [S1 + "/annotations"]
    host.cut(probe)
    host.reconnect(probe)
    assert probe.state(S1)["chats"][0]["resource"] == chat
    assert len(probe.state(chat)["turns"]) == 1
    host.stop()


def test_first_subscriptions_to_a_conversation_nobody_read_are_owed_and_marks_are_read(host, agent):
    agent.keep("conv-1", title="Found")
    host.run(host.connect("warm", ROOT).request("listSessions"))
    host.advance(2)
    agent.read_failure = AgentFailure("The file is gone.")
    probe = host.client("one")
    host.attach(probe)
    marks = L1 + "/annotations"
    result = host.run(probe.initialize(subscriptions=[L1, default_chat(L1), marks]))
    assert result["snapshots"] == []
    watched = [len(host.store.watchers(channel)) for channel in (L1, default_chat(L1), marks)]
    assert watched == [1, 1, 0], "what could not be read is not subscribed"
    agent.read_failure = None
    host.cut(probe)
    host.attach(probe)
    back = host.run(probe.reconnect(subscriptions=[L1, default_chat(L1), marks]))
    assert back.type == "snapshot"
    assert back.missing == ()


# -- what the handshake says ------------------------------------------------------------------------


def test_the_handshake_says_what_this_host_has(host):
    probe = host.client("one")
    host.attach(probe)
    result = host.run(probe.initialize())
    assert result["completionTriggerCharacters"] == ["/", "@", "#"]
    assert result["_meta"]["vscode.ahpChatUris"] is True
    for absent in ("telemetry", "automations", "terminalCommandPrefix"):
        assert absent not in result


# -- who is told ---------------------------------------------------------------------------------------


def test_the_catalogue_is_told_to_those_who_watch_the_root_and_nobody_else(host):
    watching, other = host.connect("watching", ROOT), host.connect("other")
    chat = create(host, other)
    host.run(other.subscribe(S1))
    turn(host, other, chat)
    host.advance(1)
    other.dispatch(S1, {"type": "session/titleChanged", "title": "T"})
    host.advance(1)
    host.run(other.request("disposeSession", channel=S1))
    host.settle()
    methods = [method for method, _ in watching.notifications]
    assert methods[0] == "root/sessionAdded"
    assert "root/sessionSummaryChanged" in methods
    assert methods[-1] == "root/sessionRemoved"
    assert other.notifications == []
    added = watching.notifications[0][1]["summary"]
    assert added["defaultChat"] == chat
    assert [row["resource"] for row in added["chats"]] == [chat]
    for method, params in watching.notifications:
        if method == "root/sessionSummaryChanged":
            assert not {"resource", "provider", "createdAt"} & params["changes"].keys()


def test_a_slash_command_reaches_its_backend_as_the_message_it_is(host, agent):
    probe = host.connect("one")
    turn(host, probe, create(host, probe), text="/compact now")
    [chat] = agent.chats
    assert [request.text for request in chat.turns] == ["/compact now"]


def test_a_disposed_session_takes_its_chats_and_subscriptions_with_it(host):
    probe = host.connect("one", ROOT)
    chat = create(host, probe)
    host.run(probe.request("createChat", channel=S1, chat="ahp-chat:/c2"))
    channels = (S1, chat, "ahp-chat:/c2", S1 + "/annotations")
    for channel in channels:
        host.run(probe.subscribe(channel))
    turn(host, probe, chat)
    host.run(probe.request("disposeSession", channel=S1))
    for channel in channels:
        assert not host.store.is_open(channel)
        assert host.store.watchers(channel) == ()
        assert refused(host, probe.request("subscribe", channel=channel)).code == SESSION_NOT_FOUND
