"""What a client may do on a chat's channel, and what it is refused."""

import pytest

from ahpd.protocol.status import IS_ARCHIVED, IS_READ
from ahpd.testing import agents as scripts

SESSION = "ahp-session:/s1"
SECOND = "ahp-chat:/c2"


@pytest.fixture
def host(sessions_host):
    host = sessions_host()
    host.session()
    return host


@pytest.fixture
def chat(host):
    return host.chat()


@pytest.fixture
def second(host):
    host.service.create_chat({"channel": SESSION, "chat": SECOND})
    return SECOND


def read(host, channel):
    return bool(host.state(channel)["status"] & IS_READ)


def row(host, chat):
    return next(row for row in host.state(SESSION)["chats"] if row["resource"] == chat)


# -- a chat nobody knows ----------------------------------------------------------


def test_an_unknown_chat_is_answered_as_the_table_says(host):
    nobody = "ahp-chat:/nobody"
    host.store.subscribe(nobody, host.store.watcher)
    assert host.dispatch(nobody, "chat/isReadChanged", isRead=True) == (
        "Only a known chat can change its read state."
    )
    assert host.dispatch(nobody, "chat/isArchivedChanged", isArchived=True) == (
        "Only a known independently manageable non-default chat can be archived."
    )
    assert host.turn(nobody).startswith("turn-")
    assert host.dispatch(nobody, "chat/draftChanged") is None
    assert host.kinds(nobody) == ["chat/turnStarted", "chat/draftChanged"]
    assert host.agent.turns == []


@pytest.mark.parametrize(
    "uri", ["ahp-chat:", "ahp-chat://default/%%%", "ahp-chat://default/", "ahp-chat:/%zz"]
)
def test_a_malformed_chat_troubles_nobody(host, uri):
    host.dispatch(uri, "chat/draftChanged")
    assert host.service.channels.resolve(uri) is None


def test_an_action_of_another_channel_is_refused(host, chat):
    assert host.dispatch(chat, "session/isReadChanged", isRead=True) == (
        f"session/isReadChanged is no action of a chat's channel: {chat}"
    )
    assert host.dispatch(chat, "terminal/input", data="x").startswith("terminal/input is no")
    assert host.dispatch(SESSION, "chat/turnStarted", turnId="t").startswith(
        "chat/turnStarted is no action of a session's channel"
    )


@pytest.mark.parametrize(
    "kind", ["root/configChanged", "annotations/removed", "session/isReadChanged"]
)
def test_on_a_chat_nobody_knows_only_a_chats_action_is_said_back(host, kind):
    nobody = "ahp-chat:/nobody"
    assert host.dispatch(nobody, kind) == f"{kind} is no action of a chat's channel: {nobody}"
    assert host.said(nobody) == []


@pytest.mark.parametrize("kind", ["chat/workingDirectorySet", "chat/workingDirectoryRemoved"])
def test_a_chats_folders_are_not_a_clients_to_move(host, chat, kind):
    assert host.dispatch(chat, kind, directory="file:///a") == f"Unsupported action: {kind}"


# -- what is said back ------------------------------------------------------------


def test_a_draft_is_held_and_shown_as_it_was_sent(host, chat):
    draft = {"text": "typing", "origin": {"kind": "user"}, "cursor": 3}
    host.dispatch(chat, "chat/draftChanged", draft=draft)
    assert host.state(chat)["draft"] == draft
    host.dispatch(chat, "chat/draftChanged", draft=draft)
    host.dispatch(chat, "chat/draftChanged")
    assert "draft" not in host.state(chat)
    assert host.kinds(chat) == ["chat/draftChanged"] * 3


def test_an_answer_to_no_open_request_changes_nothing(host, chat):
    before = host.state(chat)
    assert host.dispatch(chat, "chat/inputAnswerChanged", requestId="r", questionId="q") is None
    assert host.dispatch(chat, "chat/inputCompleted", requestId="r", response="cancel") is None
    assert host.state(chat) == before


# -- read and archived ------------------------------------------------------------


def test_a_new_chat_of_a_session_is_read_and_its_first_one_is_not(host, chat, second):
    assert not read(host, chat)
    assert not read(host, SESSION)
    assert read(host, second)


def test_the_last_chat_read_reads_the_session(host, chat, second):
    host.forget()
    host.dispatch(chat, "chat/isReadChanged", isRead=True)
    assert read(host, SESSION)
    assert host.kinds(chat) == ["chat/isReadChanged"]
    assert "session/isReadChanged" in host.kinds(SESSION)
    assert row(host, chat)["status"] & IS_READ


def test_a_chat_marked_unread_marks_its_session(host, chat, second):
    host.dispatch(chat, "chat/isReadChanged", isRead=True)
    host.dispatch(second, "chat/isReadChanged", isRead=False)
    assert not read(host, SESSION)
    assert read(host, chat)


def test_a_chat_read_already_with_a_sibling_moves_nothing_of_the_sessions(host, chat, second):
    host.dispatch(chat, "chat/isReadChanged", isRead=True)
    host.dispatch(SESSION, "session/isReadChanged", isRead=False)
    host.dispatch(chat, "chat/isReadChanged", isRead=True)
    assert not read(host, SESSION)


def test_a_turns_end_marks_chat_and_session_unread(host, chat):
    host.dispatch(SESSION, "session/isReadChanged", isRead=True)
    assert read(host, chat)
    host.forget()
    host.turn(chat)
    assert not read(host, chat)
    assert not read(host, SESSION)
    kinds = host.kinds()
    assert kinds.index("chat/isReadChanged") < kinds.index("session/isReadChanged")


def test_a_default_chat_is_not_archived(host, chat):
    assert host.dispatch(chat, "chat/isArchivedChanged", isArchived=True) == (
        "Only a known independently manageable non-default chat can be archived."
    )


def test_an_archived_chat_is_read_too(host, chat, second):
    host.dispatch(chat, "chat/isReadChanged", isRead=True)
    host.dispatch(second, "chat/isReadChanged", isRead=False)
    host.dispatch(second, "chat/isArchivedChanged", isArchived=True)
    assert host.state(second)["status"] & IS_ARCHIVED
    assert read(host, second)
    assert read(host, SESSION)
    host.dispatch(second, "chat/isArchivedChanged", isArchived=False)
    assert not host.state(second)["status"] & IS_ARCHIVED
    assert not row(host, second)["status"] & IS_ARCHIVED


# -- tool calls -------------------------------------------------------------------


def test_only_the_client_that_provides_a_call_reports_on_it(host, chat):
    async def script(turn):
        turn.tool("grep", "x")
        await turn.forever()

    host.agent.then(script)
    turn = host.turn(chat)
    part = host.state(chat)["activeTurn"]["responseParts"][0]
    call = part["toolCall"]["toolCallId"]
    result = {"success": True, "pastTenseMessage": "Did"}
    assert host.dispatch(
        chat, "chat/toolCallComplete", turnId=turn, toolCallId=call, result=result
    ) == (f"Only the client that provides tool call {call} may report on it.")
    assert host.dispatch(
        chat, "chat/toolCallContentChanged", turnId=turn, toolCallId=call, content=[]
    ) == (f"Only the client that provides tool call {call} may report on it.")
    assert (
        host.dispatch(chat, "chat/toolCallComplete", turnId=turn, toolCallId="other", result=result)
        is None
    )


# -- titles -----------------------------------------------------------------------


def test_a_first_message_names_the_session_and_leaves_its_only_chat_unnamed(host, chat):
    host.turn(chat, "  \n  Fix   the build\nand more")
    assert host.state(SESSION)["title"] == "Fix the build"
    assert host.state(chat)["title"] == ""
    host.turn(chat, "another message")
    assert host.state(SESSION)["title"] == "Fix the build"


def test_a_peers_first_message_names_the_peer(host, chat, second):
    host.turn(second, "A peer")
    assert host.state(second)["title"] == "A peer"
    assert row(host, second)["title"] == "A peer"
    assert host.state(SESSION)["title"] == ""


def test_a_default_chat_takes_the_sessions_title_when_it_gets_a_peer(host, chat):
    host.turn(chat, "Fix the build")
    host.service.create_chat({"channel": SESSION, "chat": SECOND})
    assert host.state(chat)["title"] == "Fix the build"
    assert row(host, chat)["title"] == "Fix the build"


def test_a_rename_on_a_chats_channel_moves_its_row_and_a_default_ones_session(host, chat, second):
    host.forget()
    host.dispatch(chat, "session/titleChanged", title="Mine")
    assert host.kinds() == [
        "session/titleChanged",
        "session/chatUpdated",
        "session/titleChanged",
    ]
    assert host.said(chat) == [{"type": "session/titleChanged", "title": "Mine"}]
    assert host.state(chat)["title"] == host.state(SESSION)["title"] == "Mine"
    host.dispatch(second, "session/titleChanged", title="")
    host.dispatch(second, "session/titleChanged", title="Peer")
    assert row(host, second)["title"] == "Peer"
    assert host.state(SESSION)["title"] == "Mine"


def test_a_rename_of_a_session_reaches_its_only_chat(host, chat):
    host.dispatch(SESSION, "session/titleChanged", title="One")
    assert host.state(chat)["title"] == "One"
    assert row(host, chat)["title"] == "One"
    host.service.create_chat({"channel": SESSION, "chat": SECOND})
    host.dispatch(SESSION, "session/titleChanged", title="Two")
    assert host.state(chat)["title"] == "One"


# -- rows -------------------------------------------------------------------------


def test_a_row_says_only_what_moved_and_nothing_for_a_delta(host, chat):
    host.agent.then(scripts.answers("a", "b", "c"))
    host.clock.advance(1)
    host.turn(chat, "hello")
    updates = [a for a in host.said(SESSION) if a["type"] == "session/chatUpdated"]
    assert [sorted(a["changes"]) for a in updates] == [["modifiedAt", "status"], ["status"]]
    assert all("resource" not in a["changes"] for a in updates)


def test_a_row_agrees_with_its_chat(host, chat, second):
    host.agent.then(scripts.echo, scripts.fails("no"))
    host.turn(chat)
    host.turn(second)
    host.dispatch(second, "chat/isReadChanged", isRead=True)
    for uri in (chat, second):
        state, held = host.state(uri), row(host, uri)
        for field in ("title", "status", "modifiedAt", "origin"):
            assert held[field] == state[field]


@pytest.mark.parametrize("kind", ["agent", "tool", "automation", "systemNotification"])
def test_a_client_speaks_for_its_user_alone(host, chat, kind):
    message = {"text": "hi", "origin": {"kind": kind}}
    words = f"message.origin.kind: found {kind!r}, a client sends 'user'"
    queued = host.dispatch(chat, "chat/pendingMessageSet", kind="queued", id="q", message=message)
    started = host.dispatch(
        chat, "chat/turnStarted", turnId="t", startedAt=host.now(), message=message
    )
    assert (queued, started) == (words, words)
    assert host.agent.turns == []


def test_a_message_of_a_kind_nobody_knows_is_passed_on(host, chat):
    message = {"text": "hi", "origin": {"kind": "x-robot"}}
    assert (
        host.dispatch(chat, "chat/turnStarted", turnId="t", startedAt=host.now(), message=message)
        is None
    )
    assert host.turns(chat)[0]["message"] == message
