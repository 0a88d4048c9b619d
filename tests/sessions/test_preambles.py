"""Text plugins put before the first turn of each new chat (PLUGINS.txt, "A new chat's preamble")."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.commands.chats import chat_commands
from ahpd.interfaces import Owned
from ahpd.protocol.errors import RpcError
from ahpd.sessions.preambles import LONGEST
from ahpd.sessions.starting import begin_chat
from ahpd.testing import agents as scripts
from ahpd.testing.agents import ScriptedAgent

S1, C2 = "ahp-session:/s1", "ahp-chat:/c2"


@pytest.fixture
def host(sessions_host, caller):
    agent = ScriptedAgent(capabilities={"multipleChats": {"sideChat": True, "fork": True}})
    host = sessions_host(agents={"scripted": agent})
    host.agent, host.caller = agent, caller()
    host.session()
    host.turn(host.chat(), "first")
    return host


def create(host, chat=C2, **params):
    """A client's `createChat`: what came of it, empty while it waits."""
    done = []
    command = chat_commands(host.service)["createChat"]
    answer = command(host.caller, {"channel": S1, "chat": chat, **params})
    if answer is None:
        return [None]
    Deferred.fromCoroutine(answer).addBoth(done.append)
    return done


def say(host, *answers):
    host.service.preambles.contributed(
        [Owned(f"plugin-{index}", answer) for index, answer in enumerate(answers)]
    )


def told(host):
    return host.agent.chats[-1].start.preamble


def test_what_they_answer_is_told_ahead_of_the_first_message_and_shown_to_nobody(host):
    async def later(ask):
        return "And polite."

    say(host, lambda ask: "You are brief.", later, lambda ask: None, lambda ask: "")
    assert create(host) == [None]
    assert len(host.agent.chats) == 1
    host.turn(C2, "hello")
    assert told(host) == "You are brief.\n\nAnd polite."
    assert host.turns(C2)[0]["message"]["text"] == "hello"
    assert "brief" not in str(host.state(C2))
    host.service.find_chat(C2).refresh_backend()
    host.turn(C2, "again")
    assert told(host) is None


def test_it_waits_for_the_persons_first_message_through_a_restart(host):
    say(host, lambda ask: "You are brief.")
    create(host)
    host.restart()
    host.turn(C2, "hello")
    assert told(host) == "You are brief."


def test_it_comes_before_the_initial_message(host):
    say(host, lambda ask: "You are brief.")
    create(host, initialMessage={"text": "hi", "origin": {"kind": "user"}})
    assert told(host) == "You are brief."
    assert host.turns(C2)[0]["message"]["text"] == "hi"


def test_a_side_chat_is_told_it_before_the_turn_it_was_made_from(host):
    asked = []

    def answer(ask):
        asked.append(ask)
        return "You are brief."

    say(host, answer)
    turn = host.turns(host.chat())[0]["id"]
    create(host, source={"kind": "sideChat", "chat": host.chat(), "turnId": turn})
    host.turn(C2, "why?")
    words = told(host)
    assert words.startswith("You are brief.\n\nThis conversation began beside another one")
    [ask] = asked
    assert (ask.session, ask.chat) == (S1, C2)
    assert ask.origin == {"kind": "sideChat", "chat": host.chat(), "turnId": turn}
    assert [row["resource"] for row in ask.chats] == [host.chat()]


def test_a_plain_chat_has_no_origin_to_tell_of(host):
    asked = []
    say(host, asked.append)
    create(host)
    assert asked[0].origin is None


def test_a_fork_the_first_chat_and_a_start_of_the_hosts_own_are_not_asked(host):
    asked = []
    say(host, asked.append)
    turn = host.turns(host.chat())[0]["id"]
    assert create(host, source={"kind": "fork", "chat": host.chat(), "turnId": turn}) == [None]
    host.session("ahp-session:/s2")
    host.turn(host.chat("ahp-session:/s2"))
    host.wait(begin_chat(host.service, {"channel": S1, "chat": "ahp-chat:/c3"}))
    assert asked == []


def test_a_chat_a_tool_opens_is_asked_about(host):
    say(host, lambda ask: "You are brief.")
    message = {"text": "work", "origin": {"kind": "agent"}}
    params = {"channel": S1, "chat": C2}
    host.wait(begin_chat(host.service, params, message=message, preambles=True))
    assert told(host) == "You are brief."


@pytest.mark.parametrize("answer", [3, {"text": "x"}, "half a character \ud800"])
def test_one_that_raises_or_answers_no_text_is_logged_and_the_chat_opens(host, log_lines, answer):
    def fails(ask):
        raise ValueError("no words")

    say(host, fails, lambda ask: answer, lambda ask: "You are brief.")
    create(host)
    host.turn(C2, "hello")
    assert told(host) == "You are brief."
    assert any("the plugin plugin-0 has no preamble" in line for line in log_lines())
    assert any("ValueError: no words" in line for line in log_lines())
    assert any("the plugin plugin-1 has no preamble" in line for line in log_lines())


def test_one_that_hangs_costs_its_time_and_no_more(host, log_lines):
    async def hangs(ask):
        await Deferred()

    say(host, hangs, lambda ask: "You are brief.", hangs)
    done = create(host)
    host.clock.advance(LONGEST - 0.1)
    assert done == []
    host.clock.advance(0.1)
    assert done == [None]
    host.turn(C2, "hello")
    assert told(host) == "You are brief."


def test_what_cannot_be_made_is_refused_before_anybody_is_asked(host):
    asked = []
    say(host, asked.append)
    with pytest.raises(RpcError, match="is no folder of the session"):
        create(host, workingDirectories=["file:///elsewhere"])
    create(host)
    with pytest.raises(RpcError, match="already exists"):
        create(host)
    assert len(asked) == 1


def test_a_session_that_goes_while_they_are_asked_gets_no_chat(host):
    gate = Deferred()

    async def waits(ask):
        await gate

    say(host, waits)
    done = create(host)
    host.wait(host.service.dispose(S1))
    gate.callback(None)
    assert done[0].check(RpcError)
    assert done[0].value.message == f"Session not found: {S1}"


def test_a_chat_of_that_name_made_meanwhile_is_no_second_one(host):
    gate = Deferred()

    async def waits(ask):
        await gate

    say(host, waits)
    done = create(host)
    host.service.create_chat({"channel": S1, "chat": C2})
    gate.callback(None)
    assert done[0].value.message == f"Chat already exists: {C2}"


def test_a_side_chat_is_about_the_turn_as_it_was_when_it_was_asked_for(host):
    gate = Deferred()

    async def waits(ask):
        await gate

    say(host, waits)
    host.agent.then(scripts.answers("forty-two"))
    turn = host.turn(host.chat(), "what is it?")
    create(host, source={"kind": "sideChat", "chat": host.chat(), "turnId": turn})
    host.dispatch(host.chat(), "chat/truncated")
    gate.callback(None)
    host.turn(C2, "why?")
    assert "forty-two" in told(host)


def test_without_any_a_chat_is_there_at_once(host):
    say(host, lambda ask: "x")
    say(host)
    assert create(host) == [None]
    host.turn(C2, "hello")
    assert told(host) is None
