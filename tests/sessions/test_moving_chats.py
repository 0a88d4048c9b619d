"""`moveChat`: another place in the session, another session, or a session of its own."""

from contextlib import suppress

import pytest

from ahpd.interfaces import AgentAbilities, AgentFailure, StoreFailure
from ahpd.protocol import errors
from ahpd.protocol.errors import RpcError
from ahpd.protocol.status import IS_ARCHIVED, IS_READ
from ahpd.protocol.uris import ROOT
from ahpd.testing import agents as scripts
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.failing_store import FailingStore

S1, S2, C2, C3, C4 = (
    "ahp-session:/s1",
    "ahp-session:/s2",
    "ahp-chat:/c2",
    "ahp-chat:/c3",
    "ahp-chat:/c4",
)


def scripted(provider="scripted", **fields):
    fields.setdefault("abilities", AgentAbilities(reopens=True, workers=True))
    agent = ScriptedAgent(provider, **fields)
    agent.keeps_as = lambda start: f"kept-{start.chat.removeprefix('ahp-chat:/')}"
    return agent


@pytest.fixture
def host(sessions_host):
    agent = scripted()
    host = sessions_host(agents={"scripted": agent, "other": scripted("other")})
    host.agent = agent
    return host


def switch(host, on=True):
    pushed = {"type": "root/configChanged", "config": {"chatMoves.enabled": on}}
    host.store.dispatch(ROOT, pushed, {"clientId": "window", "clientSeq": 1})
    host.service.moves.switched()


def started(host, session=S1, **params):
    host.session(session, workingDirectories=["file:///a"], **params)
    host.turn(host.chat(session), f"first of {session}")


def add(host, chat, session=S1, text="hello", **params):
    host.service.create_chat({"channel": session, "chat": chat, **params})
    if text is not None:
        host.turn(chat, text)


@pytest.fixture
def two(host):
    """Two started sessions, the first with two chats beside its default one, moves on."""
    switch(host)
    started(host)
    started(host, S2)
    add(host, C2)
    add(host, C3)
    host.forget()
    return host


def move(host, chat, session=None, after=None):
    destination = {"kind": "newSession"}
    if session is not None:
        destination = {"kind": "session", "session": session}
        if after is not None:
            destination["after"] = after
    return host.service.move_chat({"channel": chat, "destination": destination})


def refused(host, *args, **params):
    said = len(host.store.watcher.said)
    with pytest.raises(RpcError) as error:
        move(host, *args, **params)
    assert error.value.code == errors.INVALID_PARAMS
    assert len(host.store.watcher.said) == said
    return error.value.data["reason"]


def listed(host, session=S1):
    host.service.find(session)
    return [row["resource"] for row in host.state(session)["chats"]]


def row(host, chat, session=S1):
    [found] = [row for row in host.state(session)["chats"] if row["resource"] == chat]
    return found


# -- who may be moved -----------------------------------------------------------------


def test_a_chat_is_movable_once_it_has_a_turn_and_none_runs(host):
    switch(host)
    started(host)
    add(host, C2, text=None)
    assert not host.state(C2).get("movable")
    gate = scripts.Gate()
    host.agent.then(scripts.waits_at(gate))
    host.turn(C2)
    assert not host.state(C2).get("movable")
    host.forget()
    gate.open()
    assert host.state(C2)["movable"] is True
    assert row(host, C2)["movable"] is True
    assert host.kinds(C2).count("chat/movableChanged") == 1
    host.agent.then(scripts.never_ends)
    host.turn(C2)
    assert host.state(C2)["movable"] is False
    assert row(host, C2)["movable"] is False


def test_turning_moves_on_and_off_says_the_answers_again(host):
    started(host)
    add(host, C2)
    add(host, C3)
    assert "chat/movableChanged" not in host.kinds()
    host.forget()
    switch(host)
    assert [a["movable"] for a in host.said(C2)] == [True]
    assert [a["movable"] for a in host.said(C3)] == [True]
    assert host.said(host.chat()) == []
    switch(host)
    assert len(host.said(C2)) == 1
    switch(host, on=False)
    assert [a["movable"] for a in host.said(C2)] == [True, False]
    assert row(host, C2)["movable"] is False


def test_archiving_the_session_says_the_answers_again(two):
    two.dispatch(S1, "session/isArchivedChanged", isArchived=True)
    assert [two.state(chat)["movable"] for chat in (C2, C3)] == [False, False]
    two.dispatch(S1, "session/isArchivedChanged", isArchived=False)
    assert [two.state(chat)["movable"] for chat in (C2, C3)] == [True, True]


def test_a_default_chat_a_folderless_one_and_a_worker_are_never_movable(host):
    workers = []

    async def spawns(turn):
        worker = turn.worker(turn.running("task"), "go")
        worker.done()
        workers.append(worker.chat)

    switch(host)
    host.session()
    host.agent.then(spawns)
    host.turn(host.chat())
    add(host, C2)
    for chat in (host.chat(), C2, *workers):
        assert not host.state(chat).get("movable")
    assert refused(host, host.chat(), S1) == "notMovable"
    assert refused(host, workers[0], S1) == "notMovable"


def test_a_chat_of_an_agent_that_takes_up_no_conversation_is_not_movable(sessions_host):
    agent = scripted(abilities=AgentAbilities())
    host = sessions_host(agents={"scripted": agent})
    switch(host)
    started(host)
    add(host, C2)
    assert not host.state(C2).get("movable")
    assert refused(host, C2, S1) == "notMovable"


def test_a_fork_is_movable_from_the_start(two):
    two.agent.capabilities = {"multipleChats": {"fork": True}}
    source = {"kind": "fork", "chat": C2, "turnId": two.turns(C2)[0]["id"]}
    two.service.create_chat({"channel": S1, "chat": C4, "source": source})
    assert two.state(C4)["movable"] is True
    assert row(two, C4)["movable"] is True
    assert "chat/movableChanged" not in two.kinds(C4)


def test_deltas_say_nothing_of_it(two):
    two.agent.then(scripts.streams(50, 10))
    two.forget()
    two.turn(C2)
    assert two.kinds(C2).count("chat/movableChanged") == 2


# -- within a session --------------------------------------------------------------------


def test_a_chat_takes_the_place_behind_its_anchor_or_the_first(two):
    assert move(two, C3, S1, after=two.chat()) == {"session": S1}
    assert listed(two) == [two.chat(), C3, C2]
    move(two, C2, S1)
    assert listed(two) == [C2, two.chat(), C3]
    said = [a for a in two.said(S1) if a["type"] == "session/chatsReordered"]
    assert [a["chats"] for a in said] == [[two.chat(), C3, C2], [C2, two.chat(), C3]]
    assert two.kinds(ROOT) == []


def test_a_chat_that_stands_where_it_is_to_stand_says_nothing(two):
    assert move(two, C2, S1, after=two.chat()) == {"session": S1}
    assert two.said() == []


def test_a_session_is_named_by_any_of_its_spellings(two):
    assert move(two, C3, "scripted:/s1") == {"session": S1}
    assert listed(two)[0] == C3


def test_a_reorder_is_refused_neither_an_archived_session_nor_a_folderless_chat(host):
    switch(host)
    host.session()
    host.turn(host.chat())
    add(host, C2)
    assert move(host, C2, S1) == {"session": S1}
    host.dispatch(S1, "session/isArchivedChanged", isArchived=True)
    assert move(host, C2, S1, after=host.chat()) == {"session": S1}
    assert listed(host) == [host.chat(), C2]


# -- what is refused ---------------------------------------------------------------------


def test_every_move_is_refused_while_moves_are_off(host):
    started(host)
    add(host, C2)
    with pytest.raises(RpcError) as error:
        move(host, C2, S1)
    assert error.value.code == errors.INVALID_PARAMS
    assert error.value.message == "Moving chats is not enabled."
    assert error.value.data == {"reason": "disabled"}
    assert refused(host, "ahp-chat:/nobody", S1) == "disabled"


def test_what_cannot_be_moved_is_refused_for_its_reason(two):
    two.agent.then(scripts.never_ends)
    two.turn(C2)
    add(two, C4, text=None)
    assert refused(two, C2, S1) == "notMovable"
    assert refused(two, two.chat(), S2) == "notMovable"
    assert refused(two, two.chat()) == "notMovable"
    assert refused(two, "ahp-chat:/nobody", S1) == "notMovable"
    assert refused(two, C4, S1) == "notStarted"
    assert refused(two, C4) == "notStarted"


def test_where_a_chat_cannot_go_is_refused_for_its_reason(two):
    two.session("other:/s3", provider="other", workingDirectories=["file:///a"])
    two.turn(two.chat("other:/s3"))
    two.session("ahp-session:/provisional")
    assert refused(two, C2, "ahp-session:/nobody") == "destinationNotFound"
    assert refused(two, C2, "ahp-session:/provisional") == "destinationNotFound"
    assert refused(two, C2, "other:/s3") == "differentProvider"
    for after in (C2, "ahp-chat:/nobody", two.chat(S2)):
        assert refused(two, C2, S1, after=after) == "invalidAnchor"
    for after in (C2, C3):
        assert refused(two, C2, S2, after=after) == "invalidAnchor"


def test_an_unknown_kind_of_destination_is_unsupported(two):
    with pytest.raises(RpcError) as error:
        two.service.move_chat({"channel": C2, "destination": {"kind": "trash"}})
    assert error.value.data == {"reason": "unsupported"}


@pytest.mark.parametrize("archived", [S1, S2])
def test_neither_an_archived_session_is_left_nor_joined(two, archived):
    two.dispatch(archived, "session/isArchivedChanged", isArchived=True)
    assert refused(two, C2, S2) == "sessionArchived"
    if archived == S1:
        assert refused(two, C2) == "sessionArchived"


@pytest.mark.parametrize("changing", [S1, S2])
def test_neither_a_session_whose_folders_are_being_changed_is_left_nor_joined(two, changing):
    session = two.service.find(changing)
    session.workspace_changing(1)
    assert bool(two.state(C2)["movable"]) is (changing == S2)
    assert refused(two, C2, S2) == "sessionQuarantined"
    assert move(two, C2, S1) == {"session": S1}
    session.workspace_changing(-1)
    assert two.state(C2)["movable"] is True
    assert move(two, C2, S2) == {"session": S2}


def test_a_chat_without_a_folder_stays_in_its_session(host):
    switch(host)
    host.session()
    host.turn(host.chat())
    started(host, S2)
    add(host, C2)
    assert refused(host, C2, S2) == "workspaceless"
    assert refused(host, C2) == "workspaceless"


def test_a_session_on_another_computer_is_no_destination(host):
    for agent in host.service.registry.agents.values():
        agent.schema = {
            "type": "object",
            "properties": {"computer": {"type": "string", "title": "Computer"}},
        }
    switch(host)
    started(host, config={"computer": "one"})
    started(host, S2, config={"computer": "two"})
    add(host, C2)
    assert refused(host, C2, S2) == "unsupported"


# -- to another session ---------------------------------------------------------------------


def test_a_chat_goes_to_another_session_with_all_it_is(two):
    before = two.state(C2)
    assert move(two, C2, S2) == {"session": S2}
    assert two.state(C2) == before
    assert listed(two) == [two.chat(), C3]
    assert listed(two, S2) == [C2, two.chat(S2)]
    kept = row(two, C2, S2)
    assert kept["title"] == before["title"]
    assert kept["movable"] is True
    assert two.service.find_chat(C2).owner.uri == S2


def test_the_sessions_are_told_in_order_and_nobody_else(two):
    move(two, C2, S2, after=two.chat(S2))
    assert two.kinds(S1) == ["session/chatRemoved"]
    assert two.kinds(S2)[:2] == ["session/chatAdded", "session/chatsReordered"]
    [order] = [a["chats"] for a in two.said(S2) if a["type"] == "session/chatsReordered"]
    assert order == [two.chat(S2), C2]
    spoken = [(e["channel"], e["action"]["type"]) for e in two.store.watcher.said]
    assert spoken.index((S1, "session/chatRemoved")) < spoken.index((S2, "session/chatAdded"))
    two.clock.advance(1)
    told = two.told("root/sessionSummaryChanged")
    assert {change["session"] for change in told} == {S1, S2}


def test_the_conversation_goes_on_under_the_destination_at_the_next_turn(two):
    [opened] = [chat for chat in two.agent.chats if chat.start.chat == C2]
    move(two, C2, S2)
    assert not opened.closed
    two.turn(C2, "more")
    assert opened.closed
    start = two.agent.chats[-1].start
    assert (start.session, start.chat) == (S2, C2)
    assert start.resume.conversation == "kept-c2"
    assert [turn["id"] for turn in start.history] == [turn["id"] for turn in two.turns(C2)[:1]]
    assert two.state(C2)["turns"][-1]["state"] == "complete"


def test_a_moved_chat_works_on_in_the_folders_it_was_working_in(two):
    two.session("ahp-session:/s9", workingDirectories=["file:///elsewhere"])
    two.turn(two.chat("ahp-session:/s9"))
    move(two, C2, "ahp-session:/s9")
    two.turn(C2, "more")
    assert two.agent.chats[-1].start.working_directories == ("file:///a",)


def test_a_relaunch_that_fails_ends_that_turn(two):
    move(two, C2, S2)
    two.agent.open_failure = AgentFailure("cannot start")
    two.turn(C2, "more")
    assert two.state(C2)["turns"][-1]["state"] == "error"
    two.agent.open_failure = None
    two.turn(C2, "again")
    assert two.state(C2)["turns"][-1]["state"] == "complete"


def test_its_workers_go_along_and_keep_their_names(two):
    workers = []

    async def spawns(turn):
        worker = turn.worker(turn.running("task"), "go")
        nested = worker.worker(worker.running("task"), "deeper")
        nested.done()
        worker.done()
        workers.extend([worker.chat, nested.chat])

    two.agent.then(spawns)
    two.turn(C2, "go")
    two.forget()
    move(two, C2, S2)
    assert listed(two) == [two.chat(), C3]
    assert listed(two, S2) == [C2, *workers, two.chat(S2)]
    assert two.kinds(S1).count("session/chatRemoved") == 3
    assert two.kinds(S2).count("session/chatAdded") == 3
    assert all(two.service.find_chat(chat).owner.uri == S2 for chat in workers)


def test_what_a_worker_waits_for_is_asked_of_the_session_it_moved_to(two):
    async def leaves_one_asking(turn):
        worker = turn.worker(turn.running("task"), "go")
        worker.ask("write", "Write it?")

    two.agent.then(leaves_one_asking)
    two.turn(C2, "go")
    [before] = two.state(S1)["inputNeeded"]
    move(two, C2, S2)
    assert "inputNeeded" not in two.state(S1)
    assert two.state(S2)["inputNeeded"] == [before]
    two.dispatch(
        before["chat"],
        "chat/toolCallConfirmed",
        turnId=before["turnId"],
        toolCallId=before["toolCall"]["toolCallId"],
        approved=True,
        confirmed="user-action",
    )
    assert "inputNeeded" not in two.state(S2)


def test_an_unread_chat_carries_the_unread_with_it(two):
    two.dispatch(S2, "session/isReadChanged", isRead=True)
    two.dispatch(two.chat(), "chat/isReadChanged", isRead=True)
    two.dispatch(C3, "chat/isReadChanged", isRead=True)
    assert not two.state(S1)["status"] & IS_READ
    two.forget()
    move(two, C2, S2)
    assert two.state(S1)["status"] & IS_READ
    assert not two.state(S2)["status"] & IS_READ
    assert [a["isRead"] for a in two.said(S1) if a["type"] == "session/isReadChanged"] == [True]
    assert [a["isRead"] for a in two.said(S2) if a["type"] == "session/isReadChanged"] == [False]


def test_an_unread_chat_leaves_a_session_unread_while_another_of_its_chats_is(two):
    move(two, C2, S2)
    assert not two.state(S1)["status"] & IS_READ
    assert "session/isReadChanged" not in two.kinds()


def test_a_read_chat_moves_no_bit(two):
    two.dispatch(S2, "session/isReadChanged", isRead=True)
    two.dispatch(C2, "chat/isReadChanged", isRead=True)
    two.forget()
    move(two, C2, S2)
    assert "session/isReadChanged" not in two.kinds()


def test_a_default_chat_takes_its_sessions_title_when_another_moves_in(two):
    assert two.state(two.chat(S2))["title"] == ""
    move(two, C2, S2)
    assert two.state(two.chat(S2))["title"] == f"first of {S2}"
    assert row(two, two.chat(S2), S2)["title"] == f"first of {S2}"


def test_a_chat_that_moved_can_be_moved_on_and_back_and_disposed_of(two):
    move(two, C2, S2)
    move(two, C2, S1, after=C3)
    assert listed(two) == [two.chat(), C3, C2]
    move(two, C2, S2)
    two.wait(two.service.dispose_chat(C2))
    assert listed(two, S2) == [two.chat(S2)]
    assert not two.store.is_open(C2)


def test_what_the_moved_chat_does_moves_its_new_session(two):
    move(two, C2, S2)
    two.agent.then(scripts.never_ends)
    two.forget()
    turn = two.turn(C2, "more")
    assert two.kinds(S1) == []
    two.stop(C2, turn)
    assert two.kinds(S1) == []
    assert "session/chatUpdated" in two.kinds(S2)
    assert [a["activeSessions"] for a in two.said(ROOT)] == [1, 0]


# -- to a session of its own -----------------------------------------------------------------


def test_a_chat_gets_a_session_under_the_id_of_its_conversation(two):
    before = two.state(C2)
    assert move(two, C2) == {"session": "ahp-session:/kept-c2"}
    made = two.state("ahp-session:/kept-c2")
    assert made["lifecycle"] == "ready"
    assert made["defaultChat"] == C2
    assert listed(two, "ahp-session:/kept-c2") == [C2]
    assert made["title"] == before["title"]
    assert made["workingDirectories"] == ["file:///a"]
    assert made["activeClients"] == []
    assert two.state(C2) == {**before, "movable": False}
    assert row(two, C2, "ahp-session:/kept-c2")["movable"] is False
    assert listed(two) == [two.chat(), C3]


def test_the_new_session_is_announced_once_the_chat_left_and_nothing_is_said_on_it(two):
    seen = []
    two.store.watcher.notify = lambda channel, method, frame: seen.append(
        (method, listed(two), two.state("ahp-session:/kept-c2")["chats"][0]["resource"])
    )
    move(two, C2)
    assert seen[0] == ("root/sessionAdded", [two.chat(), C3], C2)
    assert two.kinds("ahp-session:/kept-c2") == []
    assert two.kinds(S1) == ["session/chatRemoved"]
    assert two.kinds(C2) == ["chat/movableChanged"]


def test_the_new_session_is_listed_and_goes_on(two):
    move(two, C2)
    uris = [row["resource"] for row in two.listing({})["items"]]
    assert "ahp-session:/kept-c2" in uris
    two.forget()
    two.turn(C2, "more")
    start = two.agent.chats[-1].start
    assert start.session == "ahp-session:/kept-c2"
    assert start.resume.conversation == "kept-c2"
    assert "session/ready" not in two.kinds()
    assert refused(two, C2, S1) == "notMovable"
    add(two, C4, "ahp-session:/kept-c2")
    assert move(two, C4, S1) == {"session": S1}


def test_an_id_that_is_taken_already_is_not_taken_again(two):
    two.session("ahp-session:/kept-c2")
    made = move(two, C2)["session"]
    assert made.startswith("ahp-session:/id-")
    assert two.state(made)["defaultChat"] == C2


def test_a_conversations_id_is_spelled_so_that_it_is_read_back(two):
    two.agent.keeps_as = lambda start: "a/b c"
    add(two, C4)
    made = move(two, C4)["session"]
    assert made == "ahp-session:/a%2Fb%20c"
    assert two.service.registry.held("a/b c").uri == made


def test_a_read_chat_makes_a_read_session(two):
    two.dispatch(C2, "chat/isReadChanged", isRead=True)
    made = move(two, C2)["session"]
    assert two.state(made)["status"] & IS_READ
    unread = move(two, C3)["session"]
    assert not two.state(unread)["status"] & IS_READ


def test_the_new_session_has_the_configuration_of_the_one_it_left(host):
    host.agent.schema = {
        "type": "object",
        "properties": {"mode": {"type": "string", "title": "Mode", "enum": ["ask", "go"]}},
    }
    switch(host)
    started(host, config={"mode": "go"})
    add(host, C2)
    made = move(host, C2)["session"]
    assert host.state(made)["config"]["values"]["mode"] == "go"
    host.dispatch(made, "session/titleChanged", title="Other")
    assert host.state(made)["config"] == host.state(S1)["config"]


def test_workers_go_along_to_a_new_session(two):
    workers = []

    async def spawns(turn):
        worker = turn.worker(turn.running("task"), "go")
        worker.done()
        workers.append(worker.chat)

    two.agent.then(spawns)
    two.turn(C2, "go")
    made = move(two, C2)["session"]
    assert listed(two, made) == [C2, *workers]
    assert two.state(made)["status"] & IS_ARCHIVED == 0


def test_the_folders_a_chat_brought_along_are_those_of_a_session_of_its_own(host):
    switch(host)
    started(host)
    host.session(S2, workingDirectories=["file:///b"])
    host.turn(host.chat(S2))
    add(host, C2)
    move(host, C2, S2)
    made = move(host, C2)["session"]
    assert host.state(made)["workingDirectories"] == ["file:///a"]
    host.turn(C2, "more")
    assert host.agent.chats[-1].start.working_directories == ("file:///a",)


# -- on disk first -----------------------------------------------------------------------------


def test_a_move_that_cannot_be_kept_changes_nothing(two, monkeypatch):
    def full(writes):
        raise StoreFailure("no space left")

    before = {channel: two.state(channel) for channel in (S1, S2, C2)}
    with monkeypatch.context() as broken:
        broken.setattr(two.service.journals.store, "apply", full)
        for session in (S2, None):
            with pytest.raises(RpcError, match="no space left"):
                move(two, C2, session)
    assert {channel: two.state(channel) for channel in (S1, S2, C2)} == before
    assert two.said() == []
    assert two.told() == []
    assert not two.store.is_open("ahp-session:/kept-c2")
    assert two.service.find_chat(C2).owner.uri == S1
    two.turn(C2, "more")
    assert "session/chatUpdated" in two.kinds(S1)
    assert move(two, C2) == {"session": "ahp-session:/kept-c2"}


@pytest.mark.parametrize("spare", range(8))
def test_wherever_the_host_ends_in_a_move_the_chat_is_in_one_session_and_in_its_folders(
    sessions_host, spare
):
    host = sessions_host(agents={"scripted": scripted()}, kept=FailingStore())
    host.agent = host.agents["scripted"]
    switch(host)
    started(host)
    host.session(S2, workingDirectories=["file:///b"])
    host.turn(host.chat(S2))
    add(host, C2)
    host.pass_time(60)
    host.kept.spare = spare
    with suppress(RpcError):
        move(host, C2, S2)
    assert C2 in listed(host, host.service.find_chat(C2).owner.uri)
    host.kept.spare, host.kept.full = None, False
    host.crash()
    holders = [session for session in (S1, S2) if C2 in listed(host, session)]
    assert holders == [host.service.find_chat(C2).owner.uri]
    rows = {row["resource"]: row for row in host.listing({})["items"]}
    for session in (S1, S2):
        assert [each["resource"] for each in rows[session]["chats"]] == listed(host, session)
    host.turn(C2, "more")
    assert host.agent.chats[-1].start.working_directories == ("file:///a",)


@pytest.mark.parametrize("ends", ["crash", "restart"])
def test_a_moved_chat_is_where_it_was_moved_to_after_the_host_began_again(two, ends):
    move(two, C2, S2, after=two.chat(S2))
    made = move(two, C3)["session"]
    turns = two.turns(C2)
    getattr(two, ends)()
    assert listed(two, S1) == [two.chat(S1)]
    assert listed(two, S2) == [two.chat(S2), C2]
    assert two.service.find_chat(C2).owner.uri == S2
    assert two.turns(C2) == turns
    assert listed(two, made) == [C3]
    assert two.state(made)["defaultChat"] == C3
    assert made in [row["resource"] for row in two.listing({})["items"]]
    two.turn(C2, "more")
    start = two.agent.chats[-1].start
    assert (start.session, start.resume.conversation) == (S2, "kept-c2")


@pytest.mark.parametrize("session", [S2, None])
def test_a_crash_before_anything_of_a_move_is_said_finds_it_made(two, session, monkeypatch):
    class Killed(BaseException):
        pass

    def killed(*args):
        raise Killed

    order = [C2, two.chat(S2)]
    with monkeypatch.context() as patched:
        patched.setattr("ahpd.sessions.moving._hand_over", killed)
        with pytest.raises(Killed):
            move(two, C2, session)
    assert two.said() == []
    turns = two.turns(C2)
    two.crash()
    target = session or "ahp-session:/kept-c2"
    assert two.service.find_chat(C2).owner.uri == target
    assert listed(two, target) == (order if session else [C2])
    assert C2 not in listed(two, S1)
    assert two.turns(C2) == turns
    assert target in [row["resource"] for row in two.listing({})["items"]]


def test_a_reordered_session_comes_back_in_its_order(two):
    move(two, C3, S1)
    order = listed(two)
    two.crash()
    assert listed(two) == order
    assert list(two.service.find(S1).chats) == order


def test_who_may_be_moved_is_answered_anew_once_the_host_began_again(two):
    two.crash()
    assert C2 in listed(two)
    assert not two.state(C2).get("movable")
    assert not row(two, C2).get("movable")
    switch(two)
    assert two.state(C2)["movable"] is True


def test_the_folders_brought_along_are_kept_and_left_behind_on_the_way_back(two):
    two.session("ahp-session:/s9", workingDirectories=["file:///elsewhere"])
    two.turn(two.chat("ahp-session:/s9"))
    move(two, C2, "ahp-session:/s9")
    two.crash()
    switch(two)
    two.turn(C2, "more")
    assert two.agent.chats[-1].start.working_directories == ("file:///a",)
    move(two, C2, S1)
    assert two.service.find_chat(C2).kept.folders is None


def test_what_was_said_of_being_movable_stands_after_a_sleep(two):
    made = move(two, C2)["session"]
    for _ in range(3):
        two.pass_time(1000)
    assert not two.store.is_open(made)
    assert not two.store.is_open(S1)
    assert listed(two, made) == [C2]
    assert C3 in listed(two)
    assert (two.state(C2)["movable"], two.state(C3)["movable"]) == (False, True)
    assert move(two, C3, S1) == {"session": S1}
