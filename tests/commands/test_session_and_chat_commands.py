"""The commands of sessions and chats, by their method."""

import pytest
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from ahpd.commands.chats import chat_commands
from ahpd.commands.completions import config_commands
from ahpd.commands.sessions import session_commands
from ahpd.interfaces import AgentAbilities
from ahpd.protocol import errors
from ahpd.protocol.errors import RpcError
from ahpd.protocol.reducers import REDUCERS
from ahpd.protocol.uris import ChannelKind, default_chat
from ahpd.protocol.views import PAGE, chat_view
from ahpd.sessions.config import HOST_KEYS
from ahpd.testing import agents as scripts
from ahpd.wire.codec import decode, encode

S1, C2 = "ahp-session:/s1", "ahp-chat:/c2"
ROOT = "ahp-root://"


@pytest.fixture
def host(sessions_host):
    return sessions_host()


@pytest.fixture
def run(host, caller):
    commands = {
        **session_commands(host.service),
        **chat_commands(host.service),
        **config_commands(host.service, {"scripted": host.agent}, host.clock),
    }

    def call(method, **params):
        answer = commands[method](caller(), params)
        if hasattr(answer, "send"):
            results = []
            Deferred.fromCoroutine(answer).addBoth(results.append)
            if isinstance(results[0], Failure):
                results[0].raiseException()
            return results[0]
        return decode(encode(answer))  # as its client reads it

    return call


def message(text="hello", kind="user"):
    return {"text": text, "origin": {"kind": kind}}


def refused(run, *args, **params):
    with pytest.raises(RpcError) as error:
        run(*args, **params)
    return error.value.code, error.value.message


def test_a_session_from_its_making_to_its_end(host, run):
    assert run("createSession", channel=S1, activeClient={"clientId": "client-1"}) is None
    assert run("listSessions", channel=ROOT) == {"items": []}
    host.turn(host.chat())
    assert [row["resource"] for row in run("listSessions", channel=ROOT)["items"]] == [S1]
    assert run("disposeSession", channel=S1) is None
    assert run("listSessions", channel=ROOT) == {"items": []}


def test_the_configuration_is_resolved(run):
    form = run("resolveSessionConfig", channel=ROOT)
    assert form == {"schema": {"type": "object", "properties": dict(HOST_KEYS)}, "values": {}}


def test_a_second_chat_is_added_and_taken_away(host, run):
    host.agent.capabilities["multipleWorkingDirectories"] = {}
    run("createSession", channel=S1, workingDirectories=["file:///a", "file:///b"])
    run("createChat", channel=S1, chat=C2, title="  Peer ", workingDirectories=["file:///b"])
    [added] = [a for a in host.said(S1) if a["type"] == "session/chatAdded"]
    assert added["summary"]["resource"] == C2
    assert added["summary"]["title"] == "Peer"
    assert added["summary"]["workingDirectories"] == ["file:///b"]
    host.turn(C2)
    assert host.agent.chats[0].start.working_directories == ("file:///b",)
    assert run("disposeChat", channel=C2) is None
    assert host.kinds(S1)[-1] == "session/chatRemoved"
    assert not host.store.is_open(C2)
    assert host.agent.chats[0].closed
    assert [row["resource"] for row in host.state(S1)["chats"]] == [host.chat()]


def test_a_chats_first_message_is_its_first_turn(host, run):
    run("createSession", channel=S1)
    run("createChat", channel=S1, chat=C2, initialMessage=message("go"))
    kinds = host.kinds()
    assert kinds.index("session/chatAdded") < kinds.index("chat/turnStarted")
    assert host.turns(C2)[0]["message"] == message("go")
    assert host.state(C2)["title"] == "go"


def test_a_first_messages_model_is_handed_on(host, run):
    run("createSession", channel=S1)
    first = {**message("go"), "model": {"id": "large", "config": {"thinkingLevel": "high"}}}
    run("createChat", channel=S1, chat=C2, initialMessage=first)
    assert [turn.model for turn in host.agent.turns] == [first["model"]]


def test_a_first_message_the_host_will_not_run_ends_in_an_error_on_the_chat(host, run):
    run("createSession", channel=S1)
    host.turn(host.chat())
    host.dispatch(S1, "session/isArchivedChanged", isArchived=True)
    assert run("createChat", channel=S1, chat=C2, initialMessage=message("go")) is None
    assert [turn["state"] for turn in host.turns(C2)] == ["error"]
    assert [turn.text for turn in host.agent.turns] == ["hello"]


def test_the_default_chat_asked_for_again_out_of_another_is_left_as_it_is(host, run):
    host.agent.capabilities["multipleChats"] = {"fork": True, "sideChat": True}
    run("createSession", channel=S1)
    turn = host.turn(host.chat())
    host.forget()
    for kind in ("fork", "sideChat"):
        source = {"kind": kind, "chat": host.chat(), "turnId": turn}
        assert run("createChat", channel=S1, chat=host.chat(), source=source) is None
    assert host.said() == []


def test_the_default_chat_asked_for_again_takes_its_first_message(host, run):
    run("createSession", channel=S1)
    chat = host.chat()
    assert run("createChat", channel=S1, chat=chat) is None
    assert host.said() == []
    run("createChat", channel=S1, chat=chat, initialMessage=message())
    assert len(host.turns(chat)) == 1


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"chat": "file:///c"}, "Chat URI must use the ahp-chat scheme: file:///c"),
        ({"chat": "ahp-chat:"}, "Chat URI must use the ahp-chat scheme"),
        ({"provider": "scripted"}, "provider: "),
        ({"title": 5}, "title: found 5, expected a string"),
        ({"source": {"kind": "fork", "chat": "ahp-chat:/x", "turnId": "t"}}, "source.kind"),
        ({"initialMessage": message(kind="agent")}, "initialMessage.origin.kind"),
        ({"workingDirectories": ["file:///z"]}, "workingDirectories[0]"),
        ({"chat": "ahp-chat://default/YQ"}, "derived name"),
    ],
)
def test_a_wrong_chat_makes_nothing(host, run, params, words):
    run("createSession", channel=S1)
    code, told = refused(run, "createChat", **{"channel": S1, "chat": C2, **params})
    assert code == errors.INVALID_PARAMS
    assert words in told
    assert host.said() == []


def test_a_chat_that_is_there_is_refused(host, run):
    run("createSession", channel=S1)
    run("createSession", channel="ahp-session:/s2")
    run("createChat", channel=S1, chat=C2)
    for session in (S1, "ahp-session:/s2"):
        code, words = refused(run, "createChat", channel=session, chat=C2)
        assert code == errors.ALREADY_EXISTS
        assert words == f"Chat already exists: {C2}"


def test_a_chat_of_no_session_is_refused(run):
    code, words = refused(run, "createChat", channel=S1, chat=C2)
    assert code == errors.SESSION_NOT_FOUND
    assert words == f"Session not found: {S1}"


def test_a_default_chat_and_one_nobody_has_are_kept(host, run):
    run("createSession", channel=S1)
    assert run("disposeChat", channel=host.chat()) is None
    assert run("disposeChat", channel="ahp-chat:/nobody") is None
    assert host.store.is_open(host.chat())
    assert host.said() == []


def test_a_disposed_chats_turn_is_ended_first(host, run):
    run("createSession", channel=S1)
    run("createChat", channel=S1, chat=C2)
    host.agent.then(scripts.never_ends)
    host.turn(C2)
    run("disposeChat", channel=C2)
    kinds = host.kinds()
    assert kinds.index("chat/turnCancelled") < kinds.index("session/chatRemoved")
    assert [a["activeSessions"] for a in host.said(ROOT)] == [1, 0]


def test_older_turns_come_on_the_channel_page_by_page(host, run):
    run("createSession", channel=S1)
    chat = host.chat()
    for _ in range(PAGE + 5):
        host.turn(chat)
    view = chat_view(host.state(chat), 2)
    held = view["turns"]
    cursor = view["turnsNextCursor"]
    host.forget()
    while cursor is not None:
        assert run("fetchTurns", channel=chat, cursor=cursor) == {}
        page = host.said(chat)[-1]
        held = [*page["turns"], *held]
        cursor = page.get("turnsNextCursor")
    assert held == host.turns(chat)
    assert host.kinds(chat) == ["chat/turnsLoaded"] * 2


def test_no_cursor_fetches_nothing_and_a_foreign_one_is_refused(host, run):
    run("createSession", channel=S1)
    host.turn(host.chat())
    host.forget()
    assert run("fetchTurns", channel=host.chat()) == {}
    assert host.said() == []
    for cursor in ("before:nobody", "else"):
        code, _ = refused(run, "fetchTurns", channel=host.chat(), cursor=cursor)
        assert code == errors.INVALID_PARAMS
    assert refused(run, "fetchTurns", channel="ahp-chat:/no", cursor="x") == (
        errors.SESSION_NOT_FOUND,
        "Resource not found: ahp-chat:/no",
    )


def test_a_derived_chat_is_fetched_under_any_name_it_goes_by(host, caller):
    host.service.create({"channel": "scripted:/s1"}, "client-1", derived_chat=True)
    held = host.chat("scripted:/s1")
    for _ in range(3):
        host.turn(held)
    cursor = chat_view(host.state(held), 1)["turnsNextCursor"]
    host.forget()
    fetch = chat_commands(host.service)["fetchTurns"]
    for uri in (default_chat(S1), held):
        assert fetch(caller(), {"channel": uri, "cursor": cursor}) == {}
    assert host.kinds(held) == ["chat/turnsLoaded"] * 2
    assert {envelope["channel"] for envelope in host.store.watcher.said} == {held}


def test_a_page_leaves_no_gap_in_a_narrower_view(host, run):
    run("createSession", channel=S1)
    chat = host.chat()
    for _ in range(2 * PAGE + 30):
        host.turn(chat)
    wide, narrow = (host.store.snapshot(chat, turns)["state"] for turns in (PAGE + 30, 3))
    wide, narrow = decode(encode(wide)), decode(encode(narrow))
    whole = host.state(chat)
    host.forget()
    run("fetchTurns", channel=chat, cursor=wide["turnsNextCursor"])
    [page] = host.said(chat)
    for state in (wide, narrow, whole):
        reduced = REDUCERS[ChannelKind.CHAT](state, page)
        assert [turn["id"] for turn in reduced["turns"]] == [t["id"] for t in host.turns(chat)]
    # Everybody has it by now: the next page is a page again.
    run("fetchTurns", channel=chat, cursor=f"before:{host.turns(chat)[PAGE]['id']}")
    assert len(host.said(chat)[-1]["turns"]) == PAGE


def test_a_truncation_at_a_turn_somebody_was_not_given_is_told_with_the_turns_to_it(host, run):
    run("createSession", channel=S1)
    chat = host.chat()
    ids = [host.turn(chat) for _ in range(9)]
    narrow = decode(encode(host.store.snapshot(chat, 3)["state"]))
    host.forget()
    host.dispatch(chat, "chat/truncated", turnId=ids[4])
    assert host.kinds(chat)[:2] == ["chat/turnsLoaded", "chat/truncated"]
    for action in host.said(chat):
        narrow = REDUCERS[ChannelKind.CHAT](narrow, action)
    assert [turn["id"] for turn in narrow["turns"]] == [ids[4]]
    assert narrow["turnsNextCursor"] == f"before:{ids[4]}"
    assert [turn["id"] for turn in host.turns(chat)] == ids[:5]
    host.forget()
    host.dispatch(chat, "chat/truncated", turnId=ids[4])
    assert host.kinds(chat) == ["chat/truncated"]


def test_a_chat_is_moved_by_its_command(host, run):
    host.agent.abilities = AgentAbilities(reopens=True)
    run("createSession", channel=S1, workingDirectories=["file:///a"])
    run("createChat", channel=S1, chat=C2, initialMessage=message())
    first = {"kind": "session", "session": S1}
    assert refused(run, "moveChat", channel=C2, destination=first) == (
        errors.INVALID_PARAMS,
        "Moving chats is not enabled.",
    )
    pushed = {"type": "root/configChanged", "config": {"chatMoves.enabled": True}}
    host.store.dispatch(ROOT, pushed, {"clientId": "window", "clientSeq": 1})
    assert run("moveChat", channel=C2, destination=first) == {"session": S1}
    assert [row["resource"] for row in host.state(S1)["chats"]] == [C2, host.chat()]


def test_a_session_asleep_is_woken_for_a_new_chat(host, run):
    run("createSession", channel=S1)
    host.turn(host.chat())
    host.restart()
    assert not host.store.is_open(S1)
    run("createChat", channel=S1, chat=C2, title="Peer")
    assert [row["title"] for row in host.state(S1)["chats"]] == ["hello", "Peer"]


def test_a_conversation_its_backend_alone_keeps_takes_no_new_chat(sessions_host, caller):
    agent = scripts.ConversationsAgent()
    agent.keep("elsewhere")
    host = sessions_host(agents={"scripted": agent})
    host.listing({})
    [row] = host.listing({})["items"]
    create = chat_commands(host.service)["createChat"]
    with pytest.raises(RpcError) as error:
        create(caller(), {"channel": row["resource"], "chat": C2})
    assert error.value.code == errors.SESSION_NOT_FOUND
    assert error.value.message == f"Session not found: {row['resource']}"
