"""A side chat copies nothing: it is told one turn of another chat, with its first prompt."""

import pytest

from ahpd.protocol import errors
from ahpd.protocol.errors import RpcError
from ahpd.sessions.forks import LONGEST_PREAMBLE, preamble_of
from ahpd.testing import agents as scripts
from ahpd.testing.agents import ScriptedAgent

S1, C2 = "ahp-session:/s1", "ahp-chat:/c2"


@pytest.fixture
def host(sessions_host):
    agent = ScriptedAgent(capabilities={"multipleChats": {"sideChat": True}})
    host = sessions_host(agents={"scripted": agent})
    host.agent = agent
    host.session()
    return host


def side_chat(host, turn, chat=C2, of=None, selection=None, **params):
    source = {"kind": "sideChat", "chat": of or host.chat(), "turnId": turn}
    if selection is not None:
        source["selection"] = selection
    host.service.create_chat({"channel": S1, "chat": chat, "source": source, **params})


def test_a_side_chat_begins_empty_and_says_what_it_is_about(host):
    host.agent.then(scripts.answers("forty-two"))
    turn = host.turn(host.chat(), "what is it?")
    side_chat(host, turn)
    state = host.state(C2)
    assert state["turns"] == []
    assert state["origin"] == {"kind": "sideChat", "chat": host.chat(), "turnId": turn}
    assert state["title"] == ""


def test_its_first_prompt_is_told_the_turn_and_its_later_ones_are_not(host):
    host.agent.then(scripts.answers("forty-two"))
    turn = host.turn(host.chat(), "what is it?")
    side_chat(host, turn)
    host.turn(C2, "why?")
    first = host.agent.chats[-1].start
    assert "what is it?" in first.preamble
    assert "forty-two" in first.preamble
    assert first.history == []
    assert host.turns(C2)[0]["message"]["text"] == "why?"
    host.service.find_chat(C2).refresh_backend()
    host.turn(C2, "and?")
    again = host.agent.chats[-1].start
    assert again is not first
    assert again.preamble is None


def test_a_selection_is_kept_with_the_origin_through_what_comes_after(host):
    host.agent.then(scripts.answers("forty-two"))
    turn = host.turn(host.chat(), "what is it?")
    selection = {"text": "forty", "responsePartId": "p1"}
    side_chat(host, turn, selection=selection)
    host.turn(C2, "why?")
    origin = {"kind": "sideChat", "chat": host.chat(), "turnId": turn, "selection": selection}
    assert host.state(C2)["origin"] == origin
    [row] = [row for row in host.state(S1)["chats"] if row["resource"] == C2]
    assert row["origin"] == origin
    assert "picked this out of it:\nforty" in host.agent.chats[-1].start.preamble


def test_a_selection_without_text_is_none(host):
    turn = host.turn(host.chat(), "what is it?")
    side_chat(host, turn, selection={"text": ""})
    assert "selection" not in host.state(C2)["origin"]


def test_a_turn_that_runs_is_told_as_far_as_it_had_come(host):
    gate = scripts.Gate()

    async def halfway(turn):
        part = turn.markdown("first half")
        await gate.passed()
        turn.delta(part, " second half")

    host.agent.then(halfway)
    turn = host.turn(host.chat(), "what is it?")
    side_chat(host, turn)
    gate.open()
    assert host.text(host.turns(host.chat())[0]) == "first half second half"
    host.turn(C2, "why?")
    preamble = host.agent.chats[-1].start.preamble
    assert "first half" in preamble
    assert "second half" not in preamble
    assert host.state(C2)["origin"]["turnId"] == turn


def test_a_turn_with_no_answer_so_far_is_told_as_one(host):
    async def silent(turn):
        await turn.forever()

    host.agent.then(silent)
    turn = host.turn(host.chat(), "what is it?")
    side_chat(host, turn)
    host.turn(C2, "why?")
    assert "Nothing had been answered so far." in host.agent.chats[-1].start.preamble


def test_a_side_chats_first_message_is_told_the_turn(host):
    turn = host.turn(host.chat(), "what is it?")
    message = {"text": "why?", "origin": {"kind": "user"}}
    side_chat(host, turn, initialMessage=message)
    assert host.turns(C2)[0]["message"] == message
    assert "what is it?" in host.agent.chats[-1].start.preamble
    assert host.state(C2)["title"] == "why?"


def test_a_side_chat_takes_folders_of_its_own(host):
    host.agent.capabilities["multipleWorkingDirectories"] = {}
    host.service.create(
        {"channel": "ahp-session:/s2", "workingDirectories": ["file:///a", "file:///b"]}, "client-1"
    )
    chat = host.chat("ahp-session:/s2")
    turn = host.turn(chat, "one")
    source = {"kind": "sideChat", "chat": chat, "turnId": turn}
    params = {"channel": "ahp-session:/s2", "chat": C2, "source": source}
    host.service.create_chat({**params, "workingDirectories": ["file:///b"]})
    assert host.state(C2)["workingDirectories"] == ["file:///b"]


def test_what_no_side_chat_can_be_about_is_refused(host):
    host.turn(host.chat(), "one")
    for of, turn in ((None, "nobody"), ("ahp-chat:/nobody", "turn-1")):
        with pytest.raises(RpcError) as error:
            side_chat(host, turn, of=of)
        assert error.value.code == errors.INVALID_PARAMS
    host.agent.capabilities = {"multipleChats": {"fork": True}}
    with pytest.raises(RpcError, match=r"multipleChats\.sideChat"):
        side_chat(host, "turn-1")
    assert not host.store.is_open(C2)


def test_of_a_very_long_answer_the_end_is_told():
    text = "x" * LONGEST_PREAMBLE + "the end"
    turn = {
        "message": {"text": "go"},
        "responseParts": [{"kind": "markdown", "id": "p", "content": text}],
    }
    told = preamble_of(turn, "")
    assert told.endswith("the end")
    assert len(told) < LONGEST_PREAMBLE + 200


@pytest.mark.parametrize("ends", ["crash", "restart"])
def test_the_turn_is_told_with_the_first_prompt_after_a_restart_too_and_once(host, ends):
    host.agent.then(scripts.answers("forty-two"))
    turn = host.turn(host.chat(), "what is it?")
    side_chat(host, turn, selection={"text": "forty"})
    getattr(host, ends)()
    host.turn(C2, "why?")
    assert "forty-two" in host.agent.chats[-1].start.preamble
    assert host.state(C2)["origin"]["selection"] == {"text": "forty"}
    getattr(host, ends)()
    host.turn(C2, "and?")
    assert host.agent.chats[-1].start.preamble is None
