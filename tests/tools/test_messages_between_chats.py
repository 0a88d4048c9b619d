"""`send_message`: into another chat, as a person's message would go."""

import pytest

from ahpd.testing.agents import Gate
from ahpd.testing.agents.scripts import never_ends, waits_at
from ahpd.testing.failing_store import FailingStore
from ahpd.tools.limits import MOST_MESSAGES, WINDOW

S1, S2 = "ahp-session:/s1", "ahp-session:/s2"


@pytest.fixture
def two(tools):
    tools.session(S2)
    return tools


def send(host, message="hello there", session=S2):
    return host.call("send_message", session=session, message=message)


def test_a_message_starts_a_turn_that_says_where_it_came_from(two, read):
    chat = two.chat(S2)
    said = read.text(send(two))
    assert said == "Message sent (agent-host-session://scripted/s2)."
    started = two.said(chat, "chat/turnStarted")[-1]
    own = two.said(two.chat(S1), "chat/turnStarted")[-1]
    assert started["message"] == {
        "text": "hello there",
        "origin": {"kind": "agent"},
        "_meta": {
            "vscode.chat.delegation": {
                "sourceSession": S1,
                "sourceChat": two.chat(S1),
                "sourceTurnId": own["turnId"],
            }
        },
    }
    turns = two.state(chat)["turns"]
    assert [turn["message"]["text"] for turn in turns] == [f"first of {S2}", "hello there"]
    assert turns[-1]["state"] == "complete"


def test_a_busy_chat_has_it_wait_and_runs_it_next(two, read):
    chat, gate = two.chat(S2), Gate()
    two.turn(chat, script=waits_at(gate, "late"))
    said = [read.text(send(two, text)) for text in ("one", "two")]
    assert said == ["Message queued (agent-host-session://scripted/s2)."] * 2
    assert [each["message"]["text"] for each in two.state(chat)["queuedMessages"]] == ["one", "two"]
    gate.open()
    two.host.settle()
    texts = [turn["message"]["text"] for turn in two.state(chat)["turns"]]
    assert texts[-3:] == ["go", "one", "two"]
    assert "queuedMessages" not in two.state(chat) or not two.state(chat)["queuedMessages"]


def test_what_a_person_held_back_is_not_started_by_an_agent(two, read):
    chat = two.chat(S2)
    turn = two.turn(chat, script=never_ends)
    assert "queued" in read.text(send(two, "one"))
    two.probe.dispatch(chat, {"type": "chat/turnCancelled", "turnId": turn, "duration": 1})
    two.host.settle()
    assert "queued" in read.text(send(two, "two"))
    assert "activeTurn" not in two.state(chat)
    assert len(two.state(chat)["queuedMessages"]) == 2


def test_it_is_never_sent_to_the_chat_it_comes_from(two, read):
    for name in (S1, two.chat(S1), "agent-host-session://scripted/s1"):
        words = read.failure(send(two, session=name))
        assert "refusing to send a message to the current chat" in words


def test_another_chat_of_its_own_session_takes_it(two, read):
    link = read.text(two.call("create_chat", prompt="beside")).partition("(")[2].rstrip(").")
    assert read.text(send(two, session=link)) == f"Message sent ({link})."


def test_two_chats_that_message_each_other_at_once_both_go_on(two, read):
    results = []

    def to(session):
        async def script(turn):
            arguments = {"session": session, "message": "ping"}
            results.append(await turn.host.run_tool("send_message", arguments, "c"))

        return script

    two.turn(two.chat(S1), script=to(S2))
    two.turn(two.chat(S2), script=to(S1))
    assert [read.text(result)[:12] for result in results] == ["Message sent"] * 2
    assert two.state(two.chat(S1))["turns"][-1]["message"]["text"] == "ping"


@pytest.mark.parametrize("kind", ["session", "chat"])
def test_an_archived_one_takes_none_and_no_turn_fails_for_it(two, read, kind):
    link, chat = S2, two.chat(S2)
    channel, action = S2, {"type": "session/isArchivedChanged", "isArchived": True}
    if kind == "chat":
        made = two.call("create_chat", session=S2, prompt="beside")
        link = read.text(made).partition("(")[2].rstrip(").")
        chat = two.host.store.state(S2)["chats"][-1]["resource"]
        channel, action = chat, {"type": "chat/isArchivedChanged", "isArchived": True}
    two.probe.dispatch(channel, action)
    two.host.settle()
    turns = len(two.state(chat)["turns"])
    assert "is archived" in read.failure(send(two, session=link))
    assert len(two.state(chat)["turns"]) == turns


def test_a_worker_s_chat_takes_none(two, read):
    async def spawns(turn):
        call = turn.running("task")
        turn.worker(call, "work").done()
        turn.complete(call, "done")

    two.turn(two.chat(S2), script=spawns)
    worker = two.host.store.state(S2)["chats"][-1]["resource"]
    assert "read-only" in read.failure(send(two, session=worker))


def test_an_agent_s_message_is_never_a_command_of_the_host_s_shell(two, read):
    chat, gate = two.chat(S2), Gate()
    read.text(send(two, "!touch /tmp/x"))
    two.turn(chat, script=waits_at(gate))
    read.text(send(two, "!touch /tmp/y"))
    gate.open()
    two.host.settle()
    read.text(two.call("create_chat", prompt="!touch /tmp/z"))
    read.text(
        two.call("create_session", relationship="independent", prompt="!touch /tmp/w", title="T")
    )
    assert two.programs.started == []
    texts = [turn["message"]["text"] for turn in two.state(chat)["turns"]]
    assert texts[-3:] == ["!touch /tmp/x", "go", "!touch /tmp/y"]


def test_an_agent_sends_so_many_in_an_hour_and_no_more(two, read):
    for _ in range(MOST_MESSAGES):
        read.text(send(two))
    assert "Refusing to send a message" in read.failure(send(two))
    two.host.advance(WINDOW + 1)
    read.text(send(two))


@pytest.mark.parametrize("busy", [False, True])
def test_one_that_cannot_be_kept_is_a_failure_and_nobody_is_told(tool_host, read, busy):
    kept = FailingStore()
    host = tool_host(kept=kept)
    host.session()
    host.session(S2)
    chat, results = host.chat(S2), []
    if busy:
        host.turn(chat, script=never_ends)
    before = host.state(chat)

    async def script(turn):
        kept.full = True
        arguments = {"session": S2, "message": "lost"}
        results.append(await turn.host.run_tool("send_message", arguments, "c"))
        kept.full = False

    host.turn(host.chat(S1), script=script)
    assert "could not be saved" in read.failure(results[0])
    assert host.state(chat) == before


def test_many_that_message_one_chat_at_once_are_all_heard_once(tool_host, read):
    host, gate, results = tool_host(), Gate(), []
    sessions = [f"ahp-session:/from-{number}" for number in range(12)]
    host.session(S2)
    for session in sessions:
        host.make(session)

    def sends(session):
        async def script(turn):
            await gate.passed()
            arguments = {"session": S2, "message": session}
            results.append(await turn.host.run_tool("send_message", arguments, "c"))

        return script

    for session in sessions:
        host.turn(host.chat(session), script=sends(session))
    gate.open()
    host.host.settle()
    assert all(read.text(result) for result in results)
    heard = [turn["message"]["text"] for turn in host.state(host.chat(S2))["turns"]][1:]
    assert sorted(heard) == sorted(sessions)
