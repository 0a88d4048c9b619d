"""A stop at each stage of a turn (AHP.txt, `chat/turnCancelled`; CHATS.txt, Turns)."""

import pytest

from ahpd.interfaces import AgentFailure
from ahpd.testing import agents as scripts
from ahpd.testing.agents import Gate


@pytest.fixture
def chat(lone_chat):
    return lone_chat(steering=True, resume=True)


def text(turn):
    return "".join(part.get("content", "") for part in turn["responseParts"])


def ends(chat):
    kinds = ("chat/turnComplete", "chat/turnCancelled", "chat/error")
    return [
        (action["type"].removeprefix("chat/"), action["turnId"]) for action in chat.said(*kinds)
    ]


def test_behind_another_turn_it_stops_that_ones_work_and_is_never_handed(chat):
    chat.agent.then(scripts.never_ends)
    chat.turn("first", "t1")
    chat.turn("second", "t2")
    chat.stop("t2")
    assert chat.backend.stops == ["t1"]
    assert chat.texts() == ["first"]
    assert ends(chat) == [("turnCancelled", "t2")]
    assert chat.turns[-1]["state"] == "cancelled"


@pytest.mark.parametrize("how", ["answers", "fails"])
def test_while_it_is_prepared_it_is_never_handed(chat, how):
    gate = Gate()

    async def prepare(request):
        await gate.passed()
        if how == "fails":
            raise AgentFailure("no such pin", "sendFailed")
        return request

    chat.owner.preparation = prepare
    chat.turn("first", "t1")
    chat.stop("t1")
    gate.open()
    assert chat.agent.chats == []
    assert ends(chat) == [("turnCancelled", "t1")]
    assert chat.owner.told == []
    chat.owner.preparation = None
    chat.turn("second", "t2")
    assert chat.texts() == ["second"]


@pytest.mark.parametrize("opens", [True, False])
def test_while_its_backend_is_opened_it_is_never_handed(chat, opens):
    chat.agent.open_gate = Gate()
    chat.turn("first", "t1")
    chat.stop("t1")
    if not opens:
        chat.agent.open_failure = AgentFailure("no program")
    chat.agent.open_gate.open()
    assert chat.texts() == []
    assert ends(chat) == [("turnCancelled", "t1")]
    chat.agent.open_failure = None
    chat.turn("second", "t2")
    assert chat.texts() == ["second"]
    assert len(chat.agent.chats) == 1


def test_by_somebody_who_is_told_that_the_session_is_ready_it_is_never_handed(chat):
    handed = chat.owner.turn_handed
    chat.owner.turn_handed = lambda: (handed(), chat.stop("t1"))
    chat.turn("first", "t1")
    assert chat.texts() == []
    assert ends(chat) == [("turnCancelled", "t1")]


def test_while_it_runs_its_backend_is_told_and_its_later_words_are_dropped(chat):
    gate, chat.agent.ignores_stop = Gate(), True
    chat.agent.then(scripts.waits_at(gate, "late"))
    chat.turn("first", "t1")
    chat.stop("t1")
    assert chat.backend.stops == ["t1"]
    gate.open()
    assert text(chat.turns[0]) == ""
    assert ends(chat) == [("turnCancelled", "t1")]


def test_while_it_waits_for_an_answer_what_waits_is_called_off(chat):
    async def asks(turn):
        await turn.confirmed(turn.ask("rm", "Remove it"))

    chat.agent.then(asks)
    chat.turn("first", "t1")
    chat.stop("t1")
    [turn] = chat.turns
    assert turn["responseParts"][0]["toolCall"]["status"] == "cancelled"
    chat.turn("second", "t2")
    assert chat.turns[-1]["state"] == "complete"


def test_from_inside_a_delivery_of_its_own_words_it_ends_there(chat):
    def stops(action):
        if action["type"] == "chat/delta":
            chat.reader.on = lambda action: None
            chat.stop("t1")

    chat.reader.on = stops
    chat.agent.then(scripts.answers("one", "two", "three"))
    chat.turn("first", "t1")
    assert ends(chat) == [("turnCancelled", "t1")]
    assert text(chat.turns[0]) in ("one", "onetwo", "onetwothree")  # what was on its way
    chat.turn("second", "t2")
    assert text(chat.turns[1]) == "second"


def test_a_backend_that_does_not_let_go_is_begun_again_for_the_next_turn(chat):
    chat.agent.ignores_stop = True
    chat.agent.then(scripts.never_ends)
    chat.turn("first", "t1")
    chat.stop("t1")
    chat.turn("second", "t2")
    chat.clock.advance(4.9)
    assert chat.texts() == ["first"]
    chat.clock.advance(0.2)
    assert chat.texts() == ["first", "second"]
    assert chat.agent.chats[0].closed
    assert chat.clock.getDelayedCalls() == []


def test_it_is_said_once_however_often_it_is_asked_for(chat):
    chat.agent.then(scripts.never_ends)
    chat.turn("first", "t1")
    chat.stop("t1")
    chat.stop("t1")
    assert ends(chat) == [("turnCancelled", "t1")] * 2
    assert chat.backend.stops == ["t1"]
    assert len(chat.turns) == 1


@pytest.mark.parametrize("lets_go", ["at once", "late", "never"])
def test_followed_by_a_turn_ten_milliseconds_later_no_text_is_mixed_200_times_over(chat, lets_go):
    chat.agent.ignores_stop = lets_go != "at once"
    for round_ in range(200):
        gate = Gate()
        chat.agent.then(scripts.waits_at(gate, f"old {round_}", " and more"))
        old = chat.turn(f"ask {round_}", f"old-{round_}")
        chat.stop(old)
        chat.clock.advance(0.01)
        new = chat.turn(f"new {round_}", f"new-{round_}")
        if lets_go == "late":
            gate.open()
        elif lets_go == "never":
            chat.clock.advance(5)
        stopped, following = chat.store.state("ahp-chat:/lone")["turns"][-2:]
        assert (stopped["id"], stopped["state"], text(stopped)) == (old, "cancelled", "")
        assert (following["id"], following["state"]) == (new, "complete")
        assert text(following) == f"new {round_}"
    assert len(chat.turns) == 400


def test_a_start_sent_again_under_its_id_starts_no_second_turn(chat):
    words = "The chat has a turn of this id already: t1"
    chat.agent.open_gate = Gate()
    chat.turn("first", "t1")
    assert chat.turn("first", "t1") == words
    chat.agent.open_gate.open()
    assert chat.turn("first", "t1") == words
    assert chat.texts() == ["first"]
    assert len(chat.said("chat/turnStarted")) == 1


def test_a_turn_started_while_a_stop_is_being_said_runs_behind_it(lone_chat):
    chat = lone_chat()
    chat.agent.then(scripts.never_ends)
    stopped = chat.turn("one")

    def answer(action):
        if action["type"] == "chat/turnCancelled":
            chat.turn("two")

    chat.reader.on = answer
    chat.stop(stopped)
    assert chat.texts() == ["one", "two"]
    assert [turn["state"] for turn in chat.turns] == ["cancelled", "complete"]
