"""What stays of a `!` command: its turn, its terminal, its place in the conversation."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.interfaces import AgentAbilities, ConversationPoint
from ahpd.protocol import errors
from ahpd.protocol.errors import RpcError
from ahpd.protocol.uris import ROOT
from ahpd.testing.agents import ConversationsAgent
from ahpd.testing.failing_store import FailingStore
from ahpd.testing.terminals import ScriptedTerminals
from ahpd.wire.codec import decode

S1, C2, C3 = "ahp-session:/s1", "ahp-chat:/c2", "ahp-chat:/c3"


async def points(turn):
    turn.markdown(f"answer to {turn.request.text}")
    if turn.request.text != "pointless":
        turn.point(f"point of {turn.request.text}")


@pytest.fixture
def agent():
    agent = ConversationsAgent(
        always=points,
        capabilities={"multipleChats": {"fork": True, "sideChat": True}},
        abilities=AgentAbilities(reopens=True, resume=True),
    )
    agent.keeps_as = lambda start: f"kept-{len(agent.chats)}"
    return agent


@pytest.fixture
def store():
    return FailingStore()


@pytest.fixture
def host(sessions_host, agent, store):
    host = sessions_host(
        agents={"scripted": agent}, kept=store, programs=ScriptedTerminals(), sleep_after=300
    )
    host.agent = agent
    host.session()
    return host


@pytest.fixture
def chat(host):
    return host.chat()


def run(host, chat, line="ls", prints="", code=0):
    """A command that ran to its end; the id of its turn."""
    turn = host.turn(chat, f"!{line}")
    if prints:
        host.programs.last.prints(prints)
    host.programs.last.exits(code)
    return turn


def call_of(turn):
    return turn["responseParts"][0]["toolCall"]


def terminal_of(turn):
    return call_of(turn)["content"][0]["resource"]


def texts(host, chat):
    return [turn["message"]["text"] for turn in host.turns(chat)]


def listed(host):
    return [row["resource"] for row in host.state(ROOT).get("terminals", [])]


def subscribed(host, uri):
    """The state a subscribe is answered with, whoever has it."""
    if not host.store.is_open(uri):
        host.terminals.channels.ready(uri)
    return host.store.state(uri)


def started(host):
    return host.agent.chats[-1].start


class Eyes:
    """Somebody who watches a terminal."""

    def deliver(self, envelope):
        pass

    def lagging(self):
        return False


# -- its terminal ------------------------------------------------------------------------


def test_its_terminal_is_kept_exited_and_leaves_the_list(host, chat, store):
    run(host, chat, prints="a\r\n", code=2)
    uri = terminal_of(host.turns(chat)[0])
    assert listed(host) == []
    kept = decode(store.terminal(uri))
    assert kept["lifecycle"] == {"status": "exited", "exitCode": 2}
    assert kept["content"] == [{"type": "unclassified", "value": "a\r\n"}]
    assert subscribed(host, uri)["lifecycle"]["exitCode"] == 2


def test_it_is_on_disk_before_the_end_is_said(host, chat, store):
    host.turn(chat, "!ls")
    [uri] = listed(host)
    seen = []
    deliver = host.store.watcher.deliver

    def noting(envelope):
        deliver(envelope)
        if envelope.type == "chat/toolCallComplete":
            seen.append(store.terminal(uri) is not None)

    host.store.watcher.deliver = noting
    host.programs.last.exits(0)
    assert seen == [True]


def test_somebody_who_watches_it_keeps_it_for_as_long_as_that(host, chat):
    host.turn(chat, "!ls")
    [uri] = listed(host)
    eyes = Eyes()
    host.store.subscribe(uri, eyes)
    host.programs.last.exits(0)
    host.pass_time(100)
    assert listed(host) == [uri]
    assert host.store.state(uri)["lifecycle"]["status"] == "exited"
    host.store.unsubscribe(uri, eyes)
    host.pass_time(100)
    assert listed(host) == []
    assert subscribed(host, uri)["lifecycle"]["status"] == "exited"


def test_a_client_that_took_it_over_keeps_it(host, chat):
    host.turn(chat, "!ls")
    [uri] = listed(host)
    claim = {"kind": "client", "clientId": "client-1"}
    host.store.dispatch(uri, {"type": "terminal/claimed", "claim": claim})
    host.programs.last.exits(0)
    host.pass_time(100)
    assert listed(host) == [uri]


def test_where_it_cannot_be_kept_it_stays_and_the_turn_ends(host, chat, store, monkeypatch):
    host.turn(chat, "!ls")
    [uri] = listed(host)
    store.full = True
    host.programs.last.exits(0)
    store.full = False
    assert listed(host) == [uri]
    assert host.state(chat).get("activeTurn") is None
    host.wait(host.service.dispose(S1))
    assert listed(host) == []


def test_what_a_stopped_command_had_printed_is_on_disk_before_that_is_said(host, chat, store):
    turn = host.turn(chat, "!sleep 100")
    [uri] = listed(host)
    host.programs.last.prints("a\r\n")
    seen = []
    deliver = host.store.watcher.deliver

    def noting(envelope):
        deliver(envelope)
        if envelope.type == "chat/toolCallComplete":
            seen.append(decode(store.terminal(uri)))

    host.store.watcher.deliver = noting
    host.stop(chat, turn)
    [kept] = seen
    assert kept["lifecycle"] == {"status": "exited"}
    assert kept["content"] == [{"type": "unclassified", "value": "a\r\n"}]
    assert listed(host) == []
    assert subscribed(host, uri) == kept


def test_the_last_a_stopped_command_printed_is_kept_too_and_nothing_said_of_it(host, chat):
    host.programs.stubborn = True
    turn = host.turn(chat, "!make")
    host.programs.last.prints("built\r\n")
    host.stop(chat, turn)
    host.forget()
    host.programs.last.prints("cleaned up\r\n")
    host.programs.last.exits(130)
    assert host.kinds(chat) == []
    [ended] = host.turns(chat)
    assert call_of(ended)["content"][1]["text"] == "built"
    state = subscribed(host, terminal_of(ended))
    assert state["lifecycle"] == {"status": "exited", "exitCode": 130}
    assert state["content"][0]["value"] == "built\r\ncleaned up\r\n"


def test_one_that_does_not_die_reads_back_exited_once_it_was_given_up(host, chat):
    host.programs.stubborn = True
    turn = host.turn(chat, "!trap '' HUP; sleep 100")
    [uri] = listed(host)
    host.store.subscribe(uri, Eyes())
    host.stop(chat, turn)
    assert subscribed(host, uri)["lifecycle"]["status"] == "running"
    host.pass_time(10)
    assert listed(host) == []
    assert subscribed(host, uri)["lifecycle"] == {"status": "exited"}
    host.programs.last.exits(signal="SIGKILL")


def test_somebody_who_watches_a_stopped_one_goes_on_watching(host, chat):
    turn = host.turn(chat, "!make")
    [uri] = listed(host)
    eyes = Eyes()
    host.store.subscribe(uri, eyes)
    host.stop(chat, turn)
    assert not host.service.find_chat(chat).runs
    assert host.store.state(uri)["lifecycle"]["status"] == "exited"
    host.pass_time(100)
    assert listed(host) == [uri]
    host.store.unsubscribe(uri, eyes)
    host.pass_time(100)
    assert listed(host) == []


def test_a_stopped_one_is_waited_for_until_all_it_started_is_gone(host, chat, monkeypatch):
    turn = host.turn(chat, "!make")
    [uri] = listed(host)
    terminal, gone = host.terminals.find(uri), Deferred()
    dispose = terminal.dispose

    async def slow():
        await gone
        await dispose()

    monkeypatch.setattr(terminal, "dispose", slow)
    host.stop(chat, turn)
    assert not host.programs.last.runs
    assert host.service.find_chat(chat).runs
    gone.callback(None)
    assert not host.service.find_chat(chat).runs


def test_looking_whether_somebody_watches_copies_nothing(host, chat, monkeypatch):
    host.turn(chat, "!make")
    [uri] = listed(host)
    eyes = Eyes()
    host.store.subscribe(uri, eyes)
    host.programs.last.exits(0)

    def copied():
        raise AssertionError("a terminal's whole output was copied")

    monkeypatch.setattr(host.terminals.find(uri), "state", copied)
    host.pass_time(100)
    assert listed(host) == [uri]
    host.store.unsubscribe(uri, eyes)
    host.pass_time(100)
    assert listed(host) == []


def test_where_a_stopped_one_cannot_be_kept_its_terminal_stays_and_the_turn_ends(host, chat, store):
    turn = host.turn(chat, "!make")
    [uri] = listed(host)
    apply = store.apply

    def no_terminals(writes):
        taken = list(writes)
        store.full = any(type(write).__name__ == "PutTerminal" for write in taken)
        try:
            apply(taken)
        finally:
            store.full = False

    store.apply = no_terminals
    host.stop(chat, turn)
    del store.apply
    [stopped] = host.turns(chat)
    assert (stopped["state"], call_of(stopped)["status"]) == ("cancelled", "completed")
    assert listed(host) == [uri]
    assert subscribed(host, uri)["lifecycle"]["status"] == "exited"


def test_the_disk_being_full_at_a_stop_ends_the_turn_and_kills_it_all_the_same(host, chat, store):
    turn = host.turn(chat, "!make")
    store.full = True
    host.stop(chat, turn)
    store.full = False
    assert not host.programs.last.runs
    assert listed(host) == []
    [stopped] = host.turns(chat)
    assert call_of(stopped)["status"] == "cancelled"


@pytest.mark.parametrize("end", ["crash", "restart"])
def test_a_stopped_one_reads_back(host, chat, end):
    turn = host.turn(chat, "!make")
    host.programs.last.prints("a\r\n")
    host.stop(chat, turn)
    before = host.turns(chat)
    getattr(host, end)()
    assert host.turns(chat) == before
    assert subscribed(host, terminal_of(before[0]))["content"][0]["value"] == "a\r\n"


def test_one_that_ran_when_the_host_was_stopped_reads_back_with_what_it_had_printed(host, chat):
    turn = host.turn(chat, "!make")
    host.programs.last.prints("a\r\n")
    host.restart()
    [ended] = host.turns(chat)
    assert (ended["id"], ended["state"]) == (turn, "error")
    assert call_of(ended)["content"][1]["text"] == "a"
    state = subscribed(host, terminal_of(ended))
    assert state["lifecycle"]["status"] == "exited"
    assert state["content"][0]["value"] == "a\r\n"


def test_a_fork_at_a_stopped_one_names_its_terminal_too(host, chat, store):
    host.service.create_chat({"channel": S1, "chat": C2})
    turn = host.turn(C2, "!make")
    host.programs.last.prints("a\r\n")
    host.stop(C2, turn)
    uri = terminal_of(host.turns(C2)[0])
    fork(host, C2, turn, C3)
    host.wait(host.service.dispose_chat(C2))
    assert subscribed(host, uri)["content"][0]["value"] == "a\r\n"


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_chat_that_goes_takes_what_it_stops_with_it(host, chat, store, stubborn):
    host.service.create_chat({"channel": S1, "chat": C2})
    host.programs.stubborn = stubborn
    host.turn(C2, "!make")
    [uri] = listed(host)
    eyes = Eyes()
    host.store.subscribe(uri, eyes)
    gone = Deferred.fromCoroutine(host.service.dispose_chat(C2))
    if stubborn:
        assert not gone.called
        host.programs.last.exits(0)
    assert gone.called
    assert listed(host) == []
    assert store.terminal(uri) is None


# -- restarts ------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["crash", "restart"])
def test_its_turn_and_its_terminal_read_back(host, chat, end):
    host.turn(chat, "question")
    run(host, chat, prints="a\r\n")
    before = host.turns(chat)
    getattr(host, end)()
    assert host.turns(chat) == before
    assert subscribed(host, terminal_of(before[1]))["content"][0]["value"] == "a\r\n"
    assert host.service.find_chat(chat).kept.is_command(before[1]["id"])


def test_one_that_ran_when_the_host_was_killed_reads_back_interrupted(host, chat):
    host.turn(chat, "question")
    turn = host.turn(chat, "!sleep 100")
    [uri] = listed(host)
    host.crash()
    [_, ended] = host.turns(chat)
    [call, error] = ended["responseParts"]
    assert (ended["id"], ended["state"]) == (turn, "error")
    assert call["toolCall"]["status"] == "cancelled"
    assert "content" not in call["toolCall"]
    assert error["error"]["errorType"] == "executionInterrupted"
    assert "resumable" not in error
    assert host.dispatch(chat, "chat/turnResume", turnId=turn) is not None
    with pytest.raises(RpcError) as missing:
        host.terminals.channels.ready(uri)
    assert missing.value.code == errors.SESSION_NOT_FOUND


def test_a_question_that_ran_when_the_host_was_killed_can_be_resumed_still(host, chat):
    async def forever(turn):
        await turn.forever()

    host.agent.then(forever)
    turn = host.turn(chat, "question")
    run(host, chat)
    host.turn(chat, "second")
    host.crash()
    assert texts(host, chat) == ["!ls", "second"]
    assert host.turns(chat)[1]["responseParts"][-1]["resumable"] is True
    assert turn not in [each["id"] for each in host.turns(chat)]


def test_a_command_that_was_interrupted_does_not_hold_what_waits(host, chat):
    host.turn(chat, "!sleep 100")
    host.queue(chat, "q1", "after")
    host.crash()
    host.queue(chat, "q2", "and after")
    assert texts(host, chat)[1:] == ["after", "and after"]


def test_the_disk_being_full_at_its_start_runs_nothing(host, chat, store):
    store.full = True
    refusal = host.turn(chat, "!rm -r /", turn_id="t1")
    assert [e for e in host.store.watcher.said if "rejectionReason" in e]
    store.full = False
    assert host.programs.started == []
    assert refusal == "t1"
    assert host.turns(chat) == []
    assert not host.service.find_chat(chat).kept.is_command("t1")
    host.turn(chat, "question", turn_id="t1")
    assert not host.service.find_chat(chat).kept.is_command("t1")


def test_the_disk_being_full_while_it_runs_fails_the_turn_and_kills_it(host, chat, store):
    host.turn(chat, "!sleep 100")
    store.full = True
    host.service.find_chat(chat).say(
        {"type": "chat/usage", "turnId": host.state(chat)["activeTurn"]["id"], "usage": {}}
    )
    store.full = False
    assert not host.programs.last.runs
    assert host.turns(chat)[-1]["state"] == "error"


# -- titles ----------------------------------------------------------------------------------


def test_a_command_names_a_session_until_its_first_message_does(host, chat):
    run(host, chat, "ls -la")
    assert host.state(S1)["title"] == "ls -la"
    run(host, chat, "pwd")
    assert host.state(S1)["title"] == "ls -la"
    host.turn(chat, "What is here?")
    assert host.state(S1)["title"] == "What is here?"
    run(host, chat, "pwd")
    host.turn(chat, "And there?")
    assert host.state(S1)["title"] == "What is here?"


def test_a_name_somebody_gave_meanwhile_stays(host, chat):
    run(host, chat, "ls -la")
    host.dispatch(S1, "session/titleChanged", title="Mine")
    host.turn(chat, "What is here?")
    assert host.state(S1)["title"] == "Mine"


def test_a_provisional_title_is_one_after_a_restart(host, chat):
    run(host, chat, "ls -la")
    host.crash()
    host.turn(chat, "What is here?")
    assert host.state(S1)["title"] == "What is here?"


def test_a_second_chat_has_a_title_of_its_own(host, chat):
    run(host, chat, "ls")
    host.service.create_chat({"channel": S1, "chat": C2})
    run(host, C2, "pwd")
    assert (host.state(chat)["title"], host.state(C2)["title"]) == ("ls", "pwd")
    host.turn(C2, "two")
    host.turn(chat, "one")
    assert (host.state(chat)["title"], host.state(C2)["title"]) == ("one", "two")
    assert host.state(S1)["title"] == "one"


# -- a session's first message ------------------------------------------------------------------


def test_as_a_first_message_it_makes_the_session_known(host, chat):
    host.turn(chat, "!ls")
    assert [row["title"] for row in (p["summary"] for p in host.told("root/sessionAdded"))] == [
        "ls"
    ]
    assert host.state(S1)["lifecycle"] == "ready"
    assert [row["resource"] for row in host.listing({})["items"]] == [S1]
    host.programs.last.exits(0)
    host.crash()
    assert host.state(S1)["lifecycle"] == "ready"
    assert len(host.listing({})["items"]) == 1


# -- forks ------------------------------------------------------------------------------------


def fork(host, of, turn, chat=C2):
    source = {"kind": "fork", "chat": of, "turnId": turn}
    host.service.create_chat({"channel": S1, "chat": chat, "source": source})


def test_a_fork_at_a_command_forks_the_backend_at_the_turn_before_it(host, chat):
    host.turn(chat, "one")
    run(host, chat, "first")
    command = run(host, chat, "second")
    host.turn(chat, "two")
    fork(host, chat, command)
    assert texts(host, C2) == ["one", "!first", "!second"]
    host.turn(C2, "three")
    assert started(host).fork == ConversationPoint(conversation="kept-1", point="point of one")
    assert [turn["message"]["text"] for turn in started(host).history] == ["one"]


def test_a_fork_of_commands_alone_begins_a_conversation_of_its_own(host, chat):
    command = run(host, chat)
    host.turn(chat, "one")
    fork(host, chat, command)
    host.turn(C2, "two")
    assert (started(host).fork, started(host).history) == (None, [])


def test_a_fork_behind_a_turn_without_a_point_begins_one_too(host, chat):
    host.turn(chat, "one")
    host.turn(chat, "pointless")
    command = run(host, chat)
    fork(host, chat, command)
    host.turn(C2, "two")
    assert started(host).fork is None
    assert [turn["message"]["text"] for turn in started(host).history] == ["one", "pointless"]


def test_what_a_fork_copied_is_a_command_there_too(host, chat):
    host.turn(chat, "one")
    command = run(host, chat)
    fork(host, chat, command)
    fork(host, C2, command, C3)
    host.crash()
    host.turn(C3, "two")
    assert started(host).fork == ConversationPoint(conversation="kept-1", point="point of one")


def test_a_forks_terminals_outlive_its_source(host, chat, store):
    host.service.create_chat({"channel": S1, "chat": C2})
    command = run(host, C2, prints="kept\r\n")
    uri = terminal_of(host.turns(C2)[0])
    fork(host, C2, command, C3)
    host.wait(host.service.dispose_chat(C2))
    assert subscribed(host, uri)["content"][0]["value"] == "kept\r\n"
    host.wait(host.service.dispose_chat(C3))
    assert store.terminal(uri) is None


def test_a_fork_whose_terminals_cannot_be_kept_is_a_fork_all_the_same(host, chat, monkeypatch):
    command = run(host, chat)
    apply = host.kept.apply

    def no_sharing(writes):
        taken = list(writes)
        if any(type(write).__name__ == "ShareTerminals" for write in taken):
            host.kept.full = True
        try:
            apply(taken)
        finally:
            host.kept.full = False

    monkeypatch.setattr(host.kept, "apply", no_sharing)
    fork(host, chat, command)
    assert texts(host, C2) == ["!ls"]


def test_a_side_chat_about_a_command_is_told_what_it_printed(host, chat):
    command = run(host, chat, "ls", prints="a.txt\r\n")
    source = {"kind": "sideChat", "chat": chat, "turnId": command}
    host.service.create_chat({"channel": S1, "chat": C2, "source": source})
    host.turn(C2, "what is that?")
    assert "!ls" in started(host).preamble
    assert "a.txt" in started(host).preamble


# -- truncations ---------------------------------------------------------------------------------


def truncate(host, chat, turn):
    assert host.dispatch(chat, "chat/truncated", turnId=turn) is None


def test_a_truncation_at_a_command_rewinds_the_backend_to_the_turn_before_it(host, chat):
    host.turn(chat, "one")
    command = run(host, chat)
    host.turn(chat, "two")
    truncate(host, chat, command)
    assert texts(host, chat) == ["one", "!ls"]
    host.turn(chat, "three")
    assert started(host).resume == ConversationPoint(conversation="kept-1", point="point of one")


def test_one_with_no_turn_before_it_starts_the_chat_over(host, chat):
    first, command = run(host, chat, "first"), run(host, chat, "second")
    host.turn(chat, "one")
    run(host, chat, "third")
    truncate(host, chat, command)
    assert texts(host, chat) == ["!first", "!second"]
    assert host.agent.deleted == ["kept-1"]
    host.turn(chat, "two")
    assert (started(host).resume, started(host).history) == (None, [])
    truncate(host, chat, first)
    assert texts(host, chat) == ["!first"]
    assert host.agent.deleted == ["kept-1", "kept-2"]


def test_clearing_everything_takes_the_commands_too(host, chat):
    host.turn(chat, "one")
    run(host, chat)
    assert host.dispatch(chat, "chat/truncated") is None
    assert host.turns(chat) == []
    assert host.service.find_chat(chat).kept.points == {}


@pytest.mark.parametrize("end", ["crash", "restart"])
def test_a_truncation_holds_after_a_restart(host, chat, end):
    host.turn(chat, "one")
    command = run(host, chat)
    host.turn(chat, "two")
    truncate(host, chat, command)
    getattr(host, end)()
    assert texts(host, chat) == ["one", "!ls"]
    host.turn(chat, "three")
    assert started(host).resume == ConversationPoint(conversation="kept-1", point="point of one")


def test_a_truncation_behind_commands_alone_that_ends_on_disk_starts_over(host, chat, store):
    command = run(host, chat)
    host.turn(chat, "one")
    store.spare = 1  # the truncation itself, and nothing that follows from it
    truncate(host, chat, command)
    store.spare, store.full = None, False
    host.crash()
    assert texts(host, chat) == ["!ls"]
    host.turn(chat, "two")
    assert started(host).resume is None


def test_a_truncation_that_drops_one_that_runs_kills_it(host, chat):
    one = host.turn(chat, "one")
    host.turn(chat, "!sleep 100")
    truncate(host, chat, one)
    assert not host.programs.last.runs
    assert texts(host, chat) == ["one"]
    assert "activeTurn" not in host.state(chat)
    assert listed(host) == []


def test_a_truncation_kills_what_another_turn_took_the_place_of(host, chat):
    one = host.turn(chat, "one")
    host.turn(chat, "!sleep 100")
    host.turn(chat, "two")
    assert host.programs.last.runs
    truncate(host, chat, one)
    assert not host.programs.last.runs


def test_a_truncation_stops_the_question_a_command_took_the_place_of(host, chat):
    one = host.turn(chat, "one")

    async def forever(turn):
        await turn.forever()

    host.agent.then(forever)
    dropped = host.turn(chat, "two")
    run(host, chat)
    truncate(host, chat, one)
    assert host.agent.chats[0].stops == [dropped]


def test_the_first_prompt_of_a_side_chat_is_still_told_its_source(host, chat):
    turn = host.turn(chat, "one")
    source = {"kind": "sideChat", "chat": chat, "turnId": turn}
    host.service.create_chat({"channel": S1, "chat": C2, "source": source})
    command = run(host, C2)
    run(host, C2, "more")
    truncate(host, C2, command)
    host.turn(C2, "two")
    assert "answer to one" in started(host).preamble


# -- what goes with it -----------------------------------------------------------------------------


def test_a_disposed_session_kills_what_runs_in_it(host, chat):
    host.turn(chat, "!sleep 100")
    host.turn(chat, "!sleep 200")
    host.wait(host.service.dispose(S1))
    assert not any(program.runs for program in host.programs.started)
    assert listed(host) == []


def test_a_disposed_session_takes_every_terminal_it_claims(host, chat):
    run(host, chat)
    claim = {"kind": "session", "session": S1, "chat": chat}
    host.terminals.create({"channel": "ahp-terminal:/t1", "claim": claim})
    mine = {"kind": "client", "clientId": "client-1"}
    host.terminals.create({"channel": "ahp-terminal:/t2", "claim": mine})
    host.wait(host.service.dispose(S1))
    assert listed(host) == ["ahp-terminal:/t2"]


def test_a_disposed_chat_kills_what_runs_in_it(host, chat, store):
    host.service.create_chat({"channel": S1, "chat": C2})
    run(host, C2)
    uri = terminal_of(host.turns(C2)[0])
    host.turn(C2, "!sleep 100")
    host.wait(host.service.dispose_chat(C2))
    assert not host.programs.last.runs
    assert listed(host) == []
    assert store.terminal(uri) is None


def test_a_session_with_a_command_that_runs_stays_awake(host, chat):
    host.dispatch(S1, "session/activeClientRemoved", clientId="client-1")
    host.turn(chat, "!sleep 10000")
    host.turn(chat, "one")  # the command runs on behind it
    host.pass_time(2000)
    assert host.service.registry.chats() != ()
    host.programs.last.exits(0)
    for _ in range(3):
        host.pass_time(2000)
    assert host.service.registry.chats() == ()
    assert texts(host, chat) == ["one"]


def test_a_command_keeps_no_idle_agent_open(host, chat):
    host.turn(chat, "one")
    host.turn(chat, "!sleep 10000")
    host.pass_time(700)
    assert host.agent.chats[0].closed
    assert host.programs.last.runs


def test_a_chat_in_which_a_command_runs_is_not_moved(host, chat):
    host.store.dispatch(ROOT, {"type": "root/configChanged", "config": {"chatMoves.enabled": True}})
    host.service.create_chat({"channel": S1, "chat": C2})
    host.turn(C2, "!sleep 100")
    host.turn(C2, "one")
    with pytest.raises(RpcError) as refusal:
        host.service.move_chat({"channel": C2, "destination": {"kind": "newSession"}})
    assert "running a turn" in refusal.value.message


def moved(host, chat):
    """Move a chat to a session of its own; the session."""
    host.store.dispatch(ROOT, {"type": "root/configChanged", "config": {"chatMoves.enabled": True}})
    answer = host.service.move_chat({"channel": chat, "destination": {"kind": "newSession"}})
    return answer["session"]


@pytest.mark.parametrize("taken_over", [False, True])
def test_what_is_watched_still_is_claimed_by_the_session_its_chat_moves_to(host, taken_over):
    source = host.session("ahp-session:/s2", workingDirectories=["file:///tmp"])
    host.service.create_chat({"channel": source, "chat": C2})
    host.turn(C2, "!make")
    [uri] = listed(host)
    eyes = Eyes()
    host.store.subscribe(uri, eyes)
    mine = {"kind": "client", "clientId": "client-1"}
    host.programs.last.exits(0)
    if taken_over:
        host.store.dispatch(uri, {"type": "terminal/claimed", "claim": mine})
    was = host.store.state(uri)["claim"]
    target = moved(host, C2)
    claim = host.store.state(uri)["claim"]
    assert claim == (mine if taken_over else {**was, "session": target})
    host.wait(host.service.dispose(source))
    assert listed(host) == [uri]
    host.wait(host.service.dispose(target))
    assert listed(host) == ([uri] if taken_over else [])
