"""How a chat's conversation is opened on its agent, begun again and let go of."""

import pytest
from zope.interface.verify import verifyObject

from ahpd.chats.kept import facts_of
from ahpd.interfaces import AgentFailure, ConversationPoint, IChatHost, StoreFailure
from ahpd.testing import agents as scripts
from ahpd.testing.agents import Gate


def keeps(name="c1", point=None):
    async def script(turn):
        turn.host.kept_as(name)
        if point is not None:
            turn.point(point)

    return script


# -- what it is opened on ------------------------------------------------------------


def test_it_is_opened_by_the_first_turn_on_what_is_in_force_then(lone_chat):
    chat = lone_chat()
    assert chat.agent.chats == []
    tool = {"name": "openFile", "inputSchema": {}, "clientId": "client-1"}
    chat.owner.client_tools = (tool,)
    chat.turn()
    start = chat.backend.start
    assert (start.session, start.chat) == ("ahp-session:/lone", "ahp-chat:/lone")
    assert start.working_directories == ("file:///w",)
    assert start.config == {"mode": "plan"}
    assert start.client_tools == (tool,)
    assert start.server_tools == ({"name": "list_chats"},)
    assert (start.resume, start.fork, start.preamble) == (None, None, None)
    verifyObject(IChatHost, start.host)


def test_each_turn_carries_the_tools_clients_have_when_it_is_handed(lone_chat):
    chat = lone_chat()
    gate = Gate()
    chat.agent.then(scripts.waits_at(gate))
    chat.turn()
    chat.owner.client_tools = ({"name": "openFile", "clientId": "c"},)
    chat.turn()
    gate.open()
    assert [turn.client_tools for turn in chat.agent.turns] == [(), chat.owner.client_tools]
    assert len(chat.agent.chats) == 1


def test_what_it_says_beside_its_turns_reaches_its_session(lone_chat):
    chat = lone_chat()
    chat.turn()
    host = chat.backend.start.host
    host.activity("Indexing")
    host.customizations([{"id": "x"}])
    host.mcp_server_state("m", {"kind": "ready"})
    assert chat.owner.told[1:] == [
        ("activity", "Indexing"),
        ("customizations", "ahp-chat:/lone", [{"id": "x"}]),
        ("server", "m", {"kind": "ready"}),
    ]
    chat.chat.refresh_backend()
    chat.turn()
    host.activity("from the grave")
    assert ("activity", "from the grave") not in chat.owner.told


# -- the conversation it keeps -------------------------------------------------------


def test_what_the_backend_keeps_it_under_is_resumed_when_it_is_opened_again(lone_chat):
    chat = lone_chat(reopens=True)
    chat.agent.then(keeps("c1"))
    chat.turn()
    chat.chat.refresh_backend()
    chat.turn()
    assert chat.backend.start.resume == ConversationPoint(conversation="c1")
    assert chat.facts() == {"conversation": "c1"}


@pytest.mark.parametrize("how", ["restart", "close"])
def test_a_chat_that_comes_back_resumes_the_conversation_it_had(lone_chat, how):
    chat = lone_chat(reopens=True)
    chat.agent.then(keeps("c1", "p1"))
    chat.turn(turn_id="t1")
    if how == "restart":
        again = lone_chat(chat.facts(), turns=chat.turns, reopens=True)
    else:
        chat.wait(chat.chat.release())
        assert not chat.chat.is_open
        again = chat
    again.turn()
    assert again.backend.start.resume == ConversationPoint(conversation="c1")
    assert next(turn["id"] for turn in again.backend.start.history) == "t1"
    assert again.chat.kept.points == {"t1": "p1"}


def test_a_point_is_on_disk_before_its_turns_end_is_said(lone_chat):
    chat = lone_chat()
    chat.agent.then(keeps("c1", "p1"))
    chat.turn(turn_id="t1")
    [(facts, said)] = [(facts, said) for facts, said in chat.notes if "points" in facts]
    assert facts == {"points": {"t1": "p1"}}
    assert "turnComplete" not in chat.kinds()[:said]
    assert "turnComplete" in chat.kinds()[said:]


def test_each_turn_notes_its_own_point_alone(lone_chat):
    chat = lone_chat()
    for number in range(3):
        chat.agent.then(keeps("c1", f"p{number}"))
        chat.turn(turn_id=f"t{number}")
    assert [facts for facts, _ in chat.notes] == [
        {"conversation": "c1", }, {"points": {"t0": "p0"}}, {"points": {"t1": "p1"}},
        {"points": {"t2": "p2"}},
    ]  # fmt: skip


def test_a_turn_in_no_history_leaves_its_point_harmless(lone_chat):
    chat = lone_chat()
    gate = Gate()

    async def script(turn):
        await gate.passed()
        turn.point("gone")

    chat.agent.then(script)
    chat.turn(turn_id="t1")
    chat.turn(turn_id="t2")
    gate.open()
    assert [turn["id"] for turn in chat.turns] == ["t2"]
    chat.truncate("t2")
    assert "gone" not in str(chat.facts())


def test_a_conversation_that_cannot_be_noted_fails_its_turn_in_words(lone_chat):
    chat = lone_chat()
    chat.note_failure = StoreFailure("/data/sessions.db: disk full")
    chat.agent.then(keeps("c1"))
    chat.turn()
    [part] = chat.turns[0]["responseParts"]
    assert part["error"]["errorType"] == "storeFailed"
    assert "/data/sessions.db: disk full" in part["error"]["message"]
    chat.note_failure = None
    chat.turn()
    assert chat.turns[1]["state"] == "complete"


def test_a_point_that_cannot_be_noted_fails_its_turn_in_words(lone_chat):
    chat = lone_chat()

    async def script(turn):
        turn.markdown("all done")
        turn.point("p1")
        chat.note_failure = StoreFailure("disk full")

    chat.agent.then(script)
    chat.turn()
    assert chat.turns[0]["state"] == "error"
    assert chat.turns[0]["responseParts"][-1]["error"]["errorType"] == "storeFailed"


# -- a chat made out of another ------------------------------------------------------


def test_a_fork_copies_its_source_until_it_has_a_conversation_of_its_own(lone_chat):
    source = ConversationPoint(conversation="c1", point="p1")
    chat = lone_chat(facts_of(fork=source))
    chat.agent.open_failure = AgentFailure("not now")
    chat.turn()
    chat.agent.open_failure = None
    chat.agent.then(keeps("c2"))
    chat.turn()
    assert chat.backend.start.fork == source
    assert chat.backend.start.resume is None
    chat.chat.refresh_backend()
    chat.turn()
    assert chat.backend.start.fork is None
    assert chat.backend.start.resume == ConversationPoint(conversation="c2")


def test_a_side_chats_first_prompt_alone_is_told_its_source(lone_chat):
    chat = lone_chat(facts_of(preamble="They said: hello"))
    chat.agent.open_failure = AgentFailure("not now")
    chat.turn()
    chat.agent.open_failure = None
    chat.chat.refresh_backend()
    chat.turn()
    assert chat.backend.start.preamble == "They said: hello"
    chat.chat.refresh_backend()
    chat.turn()
    assert chat.backend.start.preamble is None


# -- configuration -------------------------------------------------------------------


def test_a_backend_that_takes_configuration_is_told_all_of_it_at_once(lone_chat):
    chat = lone_chat(live_config=True)
    chat.turn()
    chat.owner.config_values = {"mode": "write", "depth": 2}
    chat.chat.config_moved()
    assert chat.backend.configured == [{"mode": "write", "depth": 2}]
    chat.turn()
    assert len(chat.agent.chats) == 1


@pytest.mark.parametrize("how", ["refuses", "takes none"])
def test_one_that_does_not_take_it_begins_again_with_it(lone_chat, how):
    chat = lone_chat(live_config=how == "refuses", reopens=True)
    chat.agent.configure_failure = AgentFailure("no such mode")
    chat.agent.then(keeps("c1"))
    chat.turn()
    chat.owner.config_values = {"mode": "write"}
    chat.chat.config_moved()
    chat.turn()
    assert len(chat.agent.chats) == 2
    assert chat.backend.start.config == {"mode": "write"}
    assert chat.backend.start.resume == ConversationPoint(conversation="c1")


def test_a_change_while_a_turn_runs_leaves_that_turn_alone(lone_chat):
    chat = lone_chat()
    gate = Gate()
    chat.agent.then(scripts.waits_at(gate, "done"))
    chat.turn()
    chat.chat.config_moved()
    chat.chat.refresh_backend()
    gate.open()
    assert chat.turns[0]["state"] == "complete"
    assert not chat.backend.closed
    chat.turn()
    assert len(chat.agent.chats) == 2


def test_a_chat_that_is_not_open_takes_what_is_in_force_when_it_is(lone_chat):
    chat = lone_chat(live_config=True)
    chat.chat.config_moved()
    chat.owner.config_values = {"mode": "last"}
    chat.chat.config_moved()
    chat.turn()
    assert chat.backend.start.config == {"mode": "last"}
    assert chat.backend.configured == []


# -- with nothing to do --------------------------------------------------------------


def test_a_backend_with_nothing_to_do_is_let_go_of_and_opened_again_resumed(lone_chat):
    chat = lone_chat(reopens=True, idle_release=600)
    chat.agent.then(keeps("c1"))
    chat.turn()
    chat.clock.advance(599)
    assert not chat.backend.closed
    chat.turn()  # busy again
    chat.clock.advance(599)
    assert not chat.backend.closed
    chat.clock.advance(1)
    assert chat.backend.closed
    assert not chat.chat.is_open
    assert chat.clock.getDelayedCalls() == []
    chat.turn("back")
    assert chat.backend.start.resume == ConversationPoint(conversation="c1")
    assert [turn["state"] for turn in chat.turns] == ["complete"] * 3


@pytest.mark.parametrize(("reopens", "seconds"), [(False, 600), (True, 0)])
def test_one_that_cannot_be_opened_again_is_kept(lone_chat, reopens, seconds):
    chat = lone_chat(reopens=reopens, idle_release=seconds)
    chat.turn()
    assert chat.clock.getDelayedCalls() == []
    chat.clock.advance(10_000)
    assert not chat.backend.closed


def test_one_that_runs_a_turn_is_never_idle(lone_chat):
    chat = lone_chat(reopens=True, idle_release=600)
    chat.turn()
    chat.agent.then(scripts.never_ends)
    chat.turn()
    chat.clock.advance(10_000)
    assert not chat.backend.closed


def test_one_that_holds_a_message_is_in_use(lone_chat):
    chat = lone_chat(reopens=True, steering=True, idle_release=600)
    chat.agent.keeps_steering = True
    gate = Gate()
    chat.agent.then(scripts.waits_at(gate))
    chat.turn()
    chat.steer("s1")
    gate.open()
    chat.clock.advance(700)
    assert not chat.backend.closed
    chat.backend.start.host.steering_taken("s1")
    chat.clock.advance(600)
    assert chat.backend.closed


def test_a_turn_sent_while_it_is_let_go_of_waits_and_opens_it_again(lone_chat):
    chat = lone_chat(reopens=True, idle_release=600)
    chat.turn()
    chat.agent.close_gate = Gate()
    chat.clock.advance(600)
    chat.turn("in the meantime")
    assert len(chat.agent.chats) == 1
    chat.agent.close_gate.open()
    assert chat.turns[-1]["state"] == "complete"
    assert len(chat.agent.chats) == 2


def test_a_chat_closed_while_it_is_idle_leaves_no_timer(lone_chat):
    chat = lone_chat(reopens=True, idle_release=600)
    chat.turn()
    chat.wait(chat.chat.close())
    assert chat.backend.closed
    assert chat.clock.getDelayedCalls() == []
