"""A truncation is a rewind (CHATS.txt, "Compacted context, and a rewind"; AHP.txt, `chat/truncated`)."""

import pytest

from ahpd.interfaces import AgentFailure, ConversationPoint, StoreFailure
from ahpd.testing import agents as scripts
from ahpd.testing.agents import Gate


@pytest.fixture
def chat(lone_chat):
    chat = lone_chat(reopens=True, steering=True)
    chat.agent.keeps_as = lambda start: f"c{len(chat.agent.chats)}"
    return chat


def ends_at(point, *pieces):
    async def script(turn):
        await scripts.answers(*pieces)(turn)
        turn.point(point)

    return script


@pytest.fixture
def three(chat):
    """Three turns: t1 and t3 have points, t2 has none."""
    chat.agent.then(ends_at("p1", "one"), scripts.answers("two"), ends_at("p3", "three"))
    for turn_id in ("t1", "t2", "t3"):
        chat.turn(turn_id=turn_id)
    return chat


def ids(chat):
    return [turn["id"] for turn in chat.turns]


def test_the_backend_is_opened_again_at_the_point_of_the_kept_turn(three):
    three.truncate("t1")
    assert ids(three) == ["t1"]
    assert len(three.agent.chats) == 1
    three.turn("again")
    assert three.agent.chats[0].closed
    start = three.backend.start
    assert start.resume == ConversationPoint(conversation="c1", point="p1")
    assert [turn["id"] for turn in start.history][:1] == ["t1"]
    assert three.turns[-1]["state"] == "complete"


def test_the_cut_is_said_before_the_backend_hears_of_it(three):
    three.agent.then(scripts.never_ends)
    three.turn(turn_id="t4")
    stops = []
    three.reader.on = lambda action: stops.append((action["type"], list(three.backend.stops)))
    three.truncate("t1")
    assert stops[0] == ("chat/truncated", [])
    assert three.backend.stops == ["t4"]


def test_the_point_holds_until_a_turn_stands_behind_it(three):
    three.truncate("t1")
    assert three.facts()["cut"] == "p1"
    assert three.facts()["points"] == {"t1": "p1"}
    three.agent.open_failure = AgentFailure("not now")
    three.turn()
    assert three.facts()["cut"] == "p1"
    three.agent.open_failure = None
    three.turn()
    assert "cut" not in three.facts()
    three.chat.refresh_backend()
    three.turn()
    assert three.backend.start.resume == ConversationPoint(conversation="c2")


def test_a_cut_outlives_a_restart(three, lone_chat):
    three.truncate("t1")
    again = lone_chat(three.facts(), turns=three.turns, reopens=True)
    again.turn()
    assert again.backend.start.resume == ConversationPoint(conversation="c1", point="p1")


def test_a_kept_turn_without_a_point_leaves_the_backend_its_history(three):
    three.truncate("t2")
    assert ids(three) == ["t1", "t2"]
    three.turn()
    assert three.backend.start.resume == ConversationPoint(conversation="c1", point=None)
    assert len(three.agent.chats) == 2


def test_a_second_cut_at_a_turn_without_a_point_keeps_the_first_ones(lone_chat):
    turns = [
        {"id": f"t{n}", "message": {"text": "", "origin": {"kind": "user"}}, "responseParts": [],
         "state": "complete"}
        for n in (1, 2, 3)
    ]  # fmt: skip
    chat = lone_chat({"conversation": "c", "points": {"t2": "p2"}}, turns=turns, reopens=True)
    chat.truncate("t2")
    chat.truncate("t1")
    chat.turn()
    assert chat.backend.start.resume == ConversationPoint(conversation="c", point="p2")


def test_an_agent_that_keeps_no_conversation_gets_the_turns_that_are_left(lone_chat):
    chat = lone_chat()
    for turn_id in ("t1", "t2", "t3"):
        chat.turn(turn_id=turn_id)
    chat.truncate("t1")
    chat.turn()
    assert chat.backend.start.resume is None
    assert [turn["id"] for turn in chat.backend.start.history] == ["t1"]
    chat.truncate()
    chat.turn()
    assert chat.backend.start.history == []
    assert chat.agent.deleted == []


def test_a_cut_at_no_turn_of_the_chat_is_said_and_cuts_nothing(three):
    assert three.truncate("unknown") is None
    assert three.said("chat/truncated") == [{"type": "chat/truncated", "turnId": "unknown"}]
    three.turn()
    assert len(three.agent.chats) == 1


# -- starting over -------------------------------------------------------------------


def test_with_no_turn_named_the_chat_starts_over(three):
    three.truncate()
    assert three.agent.chats[0].closed
    assert three.agent.deleted == ["c1"]
    assert ids(three) == []
    assert three.facts() == {}
    three.turn("anew")
    start = three.backend.start
    assert (start.resume, start.history) == (None, [])
    assert three.facts() == {"conversation": "c2"}


def test_a_conversation_that_cannot_be_deleted_goes_on(three):
    three.agent.delete_failure = AgentFailure("it is locked")
    three.truncate()
    assert ids(three) == []
    three.turn("anew")
    assert three.backend.start.resume == ConversationPoint(conversation="c1")
    assert len(three.agent.deleted) == 1


def test_one_that_is_not_deleted_in_time_goes_on_too(three):
    gate = Gate()

    async def never(conversation):
        three.agent.deleted.append(conversation)
        await gate.passed()

    three.agent.delete_conversation = never
    three.truncate()
    three.turn("anew", "t4")
    assert three.agent.deleted == ["c1"]
    three.clock.advance(10)
    assert three.backend.start.resume == ConversationPoint(conversation="c1")
    assert ids(three) == ["t4"]


def test_an_agent_that_deletes_nothing_begins_a_new_conversation(lone_chat):
    chat = lone_chat({"conversation": "c"}, reopens=True)
    chat.agent.then(ends_at("p"))
    chat.turn()
    plain_agent = scripts.ScriptedAgent(abilities=chat.agent.abilities)
    chat.owner.agent = plain_agent
    chat.truncate()
    chat.turn()
    assert plain_agent.chats[0].start.resume is None
    assert "conversation" not in chat.facts()


def test_a_turn_sent_while_the_conversation_is_deleted_waits_for_it(three):
    three.agent.close_gate = Gate()
    three.truncate()
    three.turn("anew", "t4")
    assert three.state["activeTurn"]["id"] == "t4"
    assert len(three.agent.chats) == 1
    three.agent.close_gate.open()
    assert three.agent.deleted == ["c1"]
    assert three.backend.start.resume is None
    assert ids(three) == ["t4"]


def test_a_host_that_went_away_before_it_was_deleted_deletes_it_first(lone_chat):
    chat = lone_chat({"conversation": "c", "over": True}, reopens=True)
    chat.turn()
    assert chat.agent.deleted == ["c"]
    assert chat.backend.start.resume is None
    assert "conversation" not in chat.facts()


def test_a_name_the_stopped_turn_gives_its_conversation_late_is_deleted_too(lone_chat):
    chat = lone_chat(reopens=True)
    chat.agent.ignores_stop = True
    gate = Gate()

    async def script(turn):
        await gate.passed()
        turn.host.kept_as("late")

    chat.agent.then(script)
    chat.turn()
    chat.truncate()
    chat.turn("anew", "t2")
    gate.open()
    assert chat.agent.deleted == ["late"]
    assert chat.backend.start.resume is None
    assert ids(chat) == ["t2"]


# -- while a turn runs ---------------------------------------------------------------


@pytest.mark.parametrize("kept", ["t1", None])
def test_a_running_turn_is_dropped_and_its_backend_stopped(three, kept):
    gate = Gate()
    three.agent.ignores_stop = True
    three.agent.then(scripts.waits_at(gate, "late"))
    three.turn(turn_id="t4")
    three.truncate(kept)
    assert three.backend.stops == ["t4"]
    assert "activeTurn" not in three.state
    three.turn("again", "t5")
    assert len(three.agent.chats) == 1  # the stopped work has the backend still
    gate.open()
    assert ids(three) == ([] if kept is None else ["t1"]) + ["t5"]
    point = None if kept is None else ConversationPoint(conversation="c1", point="p1")
    assert three.backend.start.resume == point
    assert three.agent.deleted == ([] if kept else ["c1"])
    assert [a["turnId"] for a in three.said("chat/turnComplete")] == ["t1", "t2", "t3", "t5"]


def test_steering_of_a_dropped_turn_goes_into_the_next_one(three):
    three.agent.keeps_steering = True
    three.agent.then(scripts.never_ends)
    three.turn(turn_id="t4")
    three.steer("s1", "left")
    three.truncate("t1")
    assert three.state["steeringMessage"]["id"] == "s1"

    async def reads(turn):
        turn.markdown((await turn.steering()).text)

    three.agent.then(reads)
    three.turn(turn_id="t5")
    assert three.turns[-1]["responseParts"][0]["content"] == "left"


def test_a_cut_that_cannot_be_written_is_made_all_the_same(three):
    three.note_failure = StoreFailure("disk full")
    three.truncate("t1")
    three.note_failure = None
    three.turn()
    assert three.backend.start.resume == ConversationPoint(conversation="c1", point="p1")
