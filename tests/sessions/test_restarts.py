"""What is there after a restart, in order or not (issue's "Durable"; AHP.txt, "Restarts")."""

import pytest

from ahpd.interfaces import AgentAbilities, PutChannel
from ahpd.protocol.status import ACTIVITY_MASK, ERROR, IDLE, IS_ARCHIVED, IS_READ
from ahpd.testing import agents as scripts
from ahpd.testing.agents import Gate, ScriptedAgent
from ahpd.wire.codec import encode

S1, C2 = "ahp-session:/s1", "ahp-chat:/c2"
MARKS = S1 + "/annotations"


@pytest.fixture(params=["crash", "restart"])
def host(request, sessions_host):
    host = sessions_host()
    host.again = getattr(host, request.param)
    host.in_order = request.param == "restart"
    return host


@pytest.fixture
def chat(host):
    host.session(workingDirectories=["file:///w"])
    return host.chat()


def without_time(turns):
    return [{k: v for k, v in turn.items() if k != "duration"} for turn in turns]


def test_a_finished_turn_is_there_and_is_listed_as_it_was(host, chat):
    host.turn(chat, "Fix it")
    turns, row = host.turns(chat), host.listing({})["items"]
    if host.in_order:
        host.wait(host.service.drain())
        assert list(host.kept.unfolded()) == []
    host.again()
    assert list(host.kept.unfolded()) == []
    assert host.listing({})["items"] == row
    assert host.service.registry.chats() == ()
    host.service.find_chat(chat)
    assert host.turns(chat) == turns
    assert host.listing({})["items"] == row


def test_a_failed_and_a_stopped_turn_are_there_in_their_places(host, chat):
    async def reads(turn):
        turn.tool("grep", "found it")
        await turn.forever()

    host.agent.then(scripts.echo, scripts.fails("no luck"), reads, scripts.echo)
    host.turn(chat, "one")
    host.turn(chat, "two")
    stopped = host.turn(chat, "three")
    host.stop(chat, stopped)
    host.turn(chat, "four")
    turns = host.turns(chat)
    assert [turn["state"] for turn in turns] == ["complete", "error", "cancelled", "complete"]
    call = turns[2]["responseParts"][0]["toolCall"]
    assert "vscode.toolCallDurationMs" in call["_meta"]
    host.again()
    assert host.turns(chat) == turns


def test_everything_a_person_did_is_there(host, chat):
    host.agent.then(scripts.echo, scripts.never_ends)
    host.turn(chat, "first")
    host.service.create_chat({"channel": S1, "chat": C2, "title": "Peer"})
    host.turn(chat, "second")
    host.queue(chat, "q1")
    host.queue(chat, "q2", "other")
    host.dispatch(chat, "chat/queuedMessagesReordered", order=["q2", "q1"])
    draft = {"text": "half a thou", "origin": {"kind": "user"}}
    host.dispatch(C2, "chat/draftChanged", draft=draft)
    host.dispatch(C2, "chat/isArchivedChanged", isArchived=True)
    host.dispatch(S1, "session/titleChanged", title="Renamed")
    host.dispatch(S1, "session/isArchivedChanged", isArchived=True)
    before, peer = host.state(S1), host.state(C2)
    host.again()
    host.service.find(S1)
    state = host.state(S1)
    for field in ("title", "workingDirectories", "defaultChat", "lifecycle", "provider"):
        assert state[field] == before[field]
    assert [row["resource"] for row in state["chats"]] == [chat, C2]
    assert state["status"] & IS_ARCHIVED
    assert [entry["id"] for entry in host.state(chat)["queuedMessages"]] == ["q2", "q1"]
    assert host.state(C2) == peer
    assert host.state(C2)["draft"] == draft
    assert host.state(C2)["status"] & IS_ARCHIVED
    assert [turn["message"]["text"] for turn in host.turns(chat)] == ["first", "second"]


def test_a_turn_that_ran_reads_back_interrupted_with_what_it_had_said(host, chat):
    host.agent.then(scripts.answers("done"), scripts.never_ends)
    host.turn(chat, "first")
    turn = host.turn(chat, "second")
    output = host.service.find_chat(chat).current.output
    part = {"kind": "markdown", "id": "p1", "content": ""}
    output.emit({"type": "chat/responsePart", "part": part})
    output.emit({"type": "chat/delta", "partId": "p1", "content": "so far"})
    host.pass_time(0.25)
    host.again()
    host.service.find_chat(chat)
    [_, last] = host.turns(chat)
    assert last["id"] == turn
    assert last["state"] == "error"
    assert host.text(last).endswith("so far")
    [part] = [part for part in last["responseParts"] if part["kind"] == "error"]
    assert part["error"] == {
        "errorType": "executionInterrupted",
        "message": "The agent was interrupted before this request finished.",
    }
    assert "resumable" not in part
    state = host.state(chat)
    assert "activeTurn" not in state
    assert state["status"] & ACTIVITY_MASK == ERROR
    assert host.state(S1)["chats"][0]["status"] & ACTIVITY_MASK == ERROR
    [row] = host.listing({})["items"]
    assert row["status"] & ACTIVITY_MASK == ERROR
    assert host.root["activeSessions"] == 0


def test_an_interrupted_turn_is_resumable_where_its_backend_can(sessions_host):
    agent = ScriptedAgent(abilities=AgentAbilities(resume=True))
    host = sessions_host(agents={"scripted": agent})
    host.session()
    chat = host.chat()
    agent.then(scripts.never_ends)
    turn = host.turn(chat)
    host.crash()
    host.service.find_chat(chat)
    [last] = host.turns(chat)
    assert last["responseParts"][-1]["resumable"] is True
    assert host.dispatch(chat, "chat/turnResume", turnId=turn) is None
    assert [turn.turn_id for turn in agent.chats[-1].resumed] == [turn]
    assert host.turns(chat)[-1]["state"] == "complete"


def test_a_session_goes_on_where_it_was(host, chat):
    host.turn(chat, "first")
    host.again()
    host.turn(chat, "second")
    host.again()
    host.turn(chat, "third")
    host.service.find_chat(chat)
    assert [turn["message"]["text"] for turn in host.turns(chat)] == ["first", "second", "third"]
    assert [len(one.start.history) for one in host.agent.chats] == [0, 1, 2]
    assert len(host.listing({})["items"]) == 1


def test_no_turn_is_there_twice_however_often_it_was_folded(host, chat):
    for number in range(5):
        host.turn(chat, f"m{number}")
        if number % 2:
            host.pass_time(3)
    host.dispatch(chat, "chat/truncated", turnId=host.turns(chat)[2]["id"])
    host.turn(chat, "after")
    turns = host.turns(chat)
    host.again()
    host.service.find_chat(chat)
    assert host.turns(chat) == turns
    assert [turn["message"]["text"] for turn in turns] == ["m0", "m1", "m2", "after"]


def test_a_provisional_session_is_there_and_unannounced(host, chat):
    host.again()
    assert host.listing({})["items"] == []
    host.service.create({"channel": S1}, "client-1")
    assert host.chat() == chat
    assert host.told("root/sessionAdded") == []
    host.turn(chat, "now")
    assert len(host.told("root/sessionAdded")) == 1
    assert host.state(S1)["lifecycle"] == "ready"
    host.again()
    assert len(host.listing({})["items"]) == 1


def test_a_provisional_session_nobody_came_back_to_is_gone_after_a_day(host, chat):
    host.session("ahp-session:/used")
    host.turn(host.chat("ahp-session:/used"))
    host.clock.advance(24 * 3600 + 1)
    host.session("ahp-session:/fresh")
    host.again()
    assert host.service.find(S1) is None
    assert host.kept.read("s1") == []
    assert host.service.find("ahp-session:/fresh") is not None
    assert host.service.find("ahp-session:/used") is not None


def test_a_provisional_session_is_let_go_of_while_the_host_runs(sessions_host):
    host = sessions_host()
    host.session()  # nobody's: it sleeps when its time is over
    watched = host.session("ahp-session:/watched")
    inside = host.session("ahp-session:/inside", activeClient={"clientId": "client-1", "tools": []})
    host.turn(host.chat(host.session("ahp-session:/used")))
    host.store.subscribe(watched, type(host.store.watcher)())
    host.pass_time(3600)
    assert host.kept.read("s1")
    assert not host.store.is_open(S1)
    for _ in range(22):
        host.pass_time(3600)
    host.session("ahp-session:/fresh")
    host.pass_time(2 * 3600)
    assert host.service.find(S1) is None
    assert host.kept.read("s1") == []
    assert host.told("root/sessionRemoved") == []
    for kept in (watched, inside, "ahp-session:/used", "ahp-session:/fresh"):
        assert host.service.find(kept) is not None


def test_a_provisional_session_that_is_awake_goes_with_its_chats(sessions_host):
    host = sessions_host(sleep_after=0)
    host.session()
    chat = host.chat()
    for _ in range(26):
        host.pass_time(3600)
    assert host.service.find(S1) is None
    assert not host.store.is_open(chat)
    assert host.kept.read("s1") == []


def test_a_first_message_that_was_cut_off_failed_the_creation(sessions_host):
    host = sessions_host()
    host.session()
    chat = host.chat()
    host.agent.open_gate = Gate()
    host.turn(chat, "hello")
    assert host.listing({})["items"] == []
    host.crash()
    [row] = host.listing({})["items"]
    assert row["status"] & ACTIVITY_MASK == ERROR
    host.service.find(S1)
    state = host.state(S1)
    assert state["lifecycle"] == "failed"
    assert state["creationError"]["errorType"] == "executionInterrupted"
    host.agent.open_gate = None
    host.turn(chat, "again")
    assert host.state(S1)["lifecycle"] == "ready"
    assert len(host.listing({})["items"]) == 1


def test_what_was_disposed_of_does_not_come_back(host, chat):
    host.turn(chat)
    host.service.create_chat({"channel": S1, "chat": C2})
    host.wait(host.service.dispose_chat(C2))
    host.again()
    assert [row["resource"] for row in host.listing({})["items"][0]["chats"]] == [chat]
    assert host.service.find_chat(C2) is None
    host.wait(host.service.dispose(S1))
    assert host.told("root/sessionRemoved") == [{"channel": "ahp-root://", "session": S1}]
    host.again()
    assert host.listing({})["items"] == []
    assert host.service.find(S1) is None
    assert list(host.kept.sessions()) == []


def test_marks_are_there_and_counted_in_the_row(host, chat):
    host.turn(chat)
    host.service.channels.ready(MARKS)
    entry = {"id": "e1", "text": "why?"}
    mark = {"id": "m1", "turnId": "t", "resource": "file:///w/a", "resolved": False}
    host.service.annotation_actions.handle(
        MARKS,
        {"type": "annotations/set", "annotation": {**mark, "entries": [entry]}},
        {"clientId": "client-1", "clientSeq": 1},
    )
    counted = {"resource": MARKS, "annotationCount": 1, "entryCount": 1}
    assert host.listing({})["items"][0]["annotations"] == counted
    assert host.told("root/sessionSummaryChanged") or host.clock.advance(1) is None
    marks = host.state(MARKS)
    host.again()
    assert host.listing({})["items"][0]["annotations"] == counted
    host.service.channels.ready(MARKS)
    assert host.state(MARKS) == marks
    host.service.annotation_actions.handle(
        MARKS,
        {"type": "annotations/removed", "annotationId": "m1"},
        {"clientId": "client-1", "clientSeq": 2},
    )
    host.clock.advance(1)
    changes = host.told("root/sessionSummaryChanged")[-1]["changes"]
    assert changes["annotations"] == {"resource": MARKS, "annotationCount": 0, "entryCount": 0}


def test_nobody_is_here_and_nothing_needs_anybody_after_a_restart(host):
    host.session(activeClient={"clientId": "client-1", "displayName": "Me"})
    chat = host.chat()
    host.agent.then(scripts.never_ends)
    host.turn(chat)
    host.store.dispatch(S1, {"type": "session/activityChanged", "activity": "Thinking"})
    host.again()
    host.service.find(S1)
    state = host.state(S1)
    assert state["activeClients"] == []
    assert "inputNeeded" not in state
    assert "activity" not in state


def test_facts_of_a_chat_are_there(host, chat):
    first, second = host.turn(chat), host.turn(chat)
    note = host.service.registry.world.note
    note(chat, {"conversation": "conv-1", "points": {first: "p1"}})
    note(chat, {"points": {second: "p2"}, "preamble": "x"})
    note(chat, {"points": {first: None}, "preamble": None})
    host.again()
    host.service.find_chat(chat)
    facts = host.service.registry.world.facts(chat)
    assert facts == {"conversation": "conv-1", "points": {second: "p2"}}
    assert host.service.find_chat(chat).kept.conversation == "conv-1"


def test_listing_keeps_its_order_and_pages_over_sessions_asleep(host):
    for number in range(5):
        uri = host.session(f"ahp-session:/n{number}")
        host.turn(host.chat(uri))
        if number < 3:
            host.clock.advance(1)
    host.again()
    host.turn(host.service.find("ahp-session:/n1").default_chat)
    seen, cursor = [], None
    while True:
        page = host.listing({"limit": 2, **({} if cursor is None else {"cursor": cursor})})
        seen += [row["resource"][-2:] for row in page["items"]]
        cursor = page.get("nextCursor")
        if cursor is None:
            break
    assert seen == ["n4", "n3", "n1", "n2", "n0"]
    assert host.root["activeSessions"] == 0


def test_names_are_resolved_without_waking(host, chat):
    host.turn(chat)
    host.again()
    channels = host.service.channels
    assert channels.resolve(S1) == S1
    assert channels.resolve("scripted:/s1") == S1
    assert channels.resolve("file:/s1") is None
    assert channels.resolve(chat) == chat
    assert channels.resolve(MARKS) == MARKS
    assert channels.resolve("ahp-chat:/nobody") is None
    assert host.service.registry.chats() == ()
    assert not host.store.is_open(S1)
    assert channels.ready(chat) is None
    assert host.store.is_open(S1)
    assert host.store.is_open(chat)


def test_a_session_whose_agent_is_not_offered_any_more_can_be_read_and_not_run(host, chat):
    host.turn(chat, "hello")
    turns = host.turns(chat)
    host.agents = {"other": ScriptedAgent("other")}
    host.again()
    assert len(host.listing({})["items"]) == 1
    host.service.find_chat(chat)
    assert host.turns(chat) == turns
    assert host.dispatch(S1, "session/titleChanged", title="Kept") is None
    host.turn(chat, "again")
    part = host.turns(chat)[-1]["responseParts"][-1]
    assert part["error"]["message"] == "This host does not offer the agent 'scripted' any more."


def test_a_chat_whose_making_was_cut_off_is_in_neither_place(host, chat):
    host.turn(chat)
    head = encode({"state": {k: v for k, v in host.state(chat).items() if k != "turns"}})
    host.kept.apply([PutChannel(session="s1", channel=C2, kind="chat", head=head)])
    host.again()
    assert host.service.find_chat(C2) is None
    host.service.find(S1)
    assert [row["resource"] for row in host.state(S1)["chats"]] == [chat]


def test_read_state_is_there(host, chat):
    host.turn(chat)
    host.dispatch(chat, "chat/isReadChanged", isRead=True)
    assert host.state(S1)["status"] == IDLE | IS_READ
    host.again()
    host.service.find(S1)
    assert host.state(S1)["status"] == IDLE | IS_READ
    assert host.state(chat)["status"] == IDLE | IS_READ


def test_titles_are_the_ones_their_holders_took(host, chat):
    host.turn(chat, "Name me")
    assert (host.state(S1)["title"], host.state(chat)["title"]) == ("Name me", "")
    host.again()
    assert (host.state(S1)["title"], host.state(chat)["title"]) == ("Name me", "")
    host.service.find(S1)
    host.service.create_chat({"channel": S1, "chat": C2})
    host.dispatch(S1, "session/titleChanged", title="Another")
    host.dispatch(C2, "session/titleChanged", title="")
    host.again()
    titles = [host.state(uri)["title"] for uri in (S1, chat, C2)]
    assert titles == ["Another", "Name me", ""], "with a peer the default chat's is its own"


def test_a_session_began_when_it_was_made_whatever_happens_to_it(host, chat):
    made = host.now()
    host.clock.advance(60)
    host.turn(chat)
    host.clock.advance(60)
    host.again()
    host.service.find(S1)
    host.clock.advance(60)
    host.turn(chat, "again")
    [row] = host.listing({})["items"]
    assert row["createdAt"] == made
    assert row["modifiedAt"] == host.now()
