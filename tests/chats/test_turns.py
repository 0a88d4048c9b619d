"""Turns: started, run in order, ended once (AHP.txt, the `chat/*` table and "Turns")."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.interfaces import AgentFailure
from ahpd.testing import agents as scripts
from ahpd.testing.agents import Gate
from tests.raises import RAISES


@pytest.fixture
def host(sessions_host):
    return sessions_host()


@pytest.fixture
def chat(host):
    host.session()
    return host.chat()


def ends(host, chat):
    return [
        (action["type"].removeprefix("chat/"), action["turnId"])
        for action in host.said(chat)
        if action["type"] in ("chat/turnComplete", "chat/error", "chat/turnCancelled")
    ]


def test_a_turn_is_said_back_as_it_was_sent_and_run(host, chat):
    message = {"text": "hi there", "origin": {"kind": "user"}, "model": {"id": "m1"}, "vendor": 7}
    host.dispatch(
        chat, "chat/turnStarted", turnId="t1", startedAt=host.now(), message=message, extra=True
    )
    first = next(e for e in host.store.watcher.said if e["channel"] == chat)
    assert first["origin"] == {"clientId": "client-1", "clientSeq": 1}
    assert first["action"]["message"] == message
    assert first["action"]["extra"] is True
    [turn] = host.turns(chat)
    assert turn["state"] == "complete"
    assert turn["message"] == message
    assert host.text(turn) == "hi there"
    assert host.agent.turns[0].model == {"id": "m1"}


def test_the_duration_is_the_clocks(host, chat):
    gate = Gate()
    host.agent.then(scripts.waits_at(gate, "done"))
    host.turn(chat)
    host.clock.advance(1.25)
    gate.open()
    assert host.turns(chat)[0]["duration"] == 1250
    assert host.state(chat)["modifiedAt"] == "2026-01-02T03:04:06.250Z"


def test_a_turn_that_is_there_starts_no_second_one(host, chat):
    host.turn(chat, turn_id="t1")
    assert host.turn(chat, turn_id="t1") == "The chat has a turn of this id already: t1"
    host.agent.then(scripts.never_ends)
    host.turn(chat, turn_id="t2")
    assert host.turn(chat, turn_id="t2") == "The chat has a turn of this id already: t2"
    assert len(host.agent.turns) == 2
    assert host.state(chat)["activeTurn"]["responseParts"] != []


def test_a_start_at_no_time_is_refused(host, chat):
    refused = host.dispatch(
        chat,
        "chat/turnStarted",
        turnId="t1",
        startedAt="soon",
        message={"text": "", "origin": {"kind": "user"}},
    )
    assert refused == "startedAt is no ISO 8601 time: 'soon'"


def test_a_failure_ends_the_turn_in_its_words(host, chat):
    host.agent.then(scripts.fails("no quota", "quotaExceeded", resumable=True))
    host.turn(chat)
    [turn] = host.turns(chat)
    assert turn["state"] == "error"
    assert turn["responseParts"][-1] == {
        "kind": "error",
        "error": {"errorType": "quotaExceeded", "message": "no quota"},
        "resumable": True,
    }


def test_a_backends_bug_ends_the_turn_without_a_trace_of_it(host, chat):
    host.agent.then(scripts.raises(KeyError("secret")))
    host.turn(chat)
    part = host.turns(chat)[0]["responseParts"][-1]
    assert part["error"] == {
        "errorType": "agentError",
        "message": "The agent failed while it ran this turn.",
    }


@pytest.mark.parametrize("when", ["at once", "later"])
@pytest.mark.parametrize("raised", RAISES)
def test_a_turn_ends_whatever_its_backend_raises(host, chat, raised, when):
    gate = Gate()

    async def breaks(turn):
        if when == "later":
            await gate.passed()
        raise RAISES[raised]()

    host.agent.then(breaks)
    host.turn(chat)
    gate.open()
    [turn] = host.turns(chat)
    assert turn["responseParts"][-1]["error"]["errorType"] == "agentError"
    host.turn(chat, "and now")
    assert host.turns(chat)[1]["state"] == "complete"
    host.wait(host.service.dispose("ahp-session:/s1"))


@pytest.mark.parametrize("raised", RAISES)
def test_a_turn_ends_whatever_the_opening_of_its_conversation_raises(host, chat, raised):
    opens, host.agent.open_chat = host.agent.open_chat, None

    async def breaks(start):
        host.agent.open_chat = opens
        raise RAISES[raised]()

    host.agent.open_chat = breaks
    host.turn(chat)
    assert host.turns(chat)[0]["state"] == "error"
    host.turn(chat, "and now")
    assert host.turns(chat)[1]["state"] == "complete"


@pytest.mark.parametrize("words", [5, None, "half a \ud800 character"])
def test_a_failure_without_words_that_can_be_sent_ends_the_turn_all_the_same(host, chat, words):
    host.agent.then(scripts.raises(AgentFailure(words)))
    host.turn(chat)
    error = host.turns(chat)[0]["responseParts"][-1]["error"]
    assert error["message"] == "The agent failed while it ran this turn."
    host.turn(chat, "and now")
    assert host.turns(chat)[1]["state"] == "complete"


def test_a_backend_that_says_the_end_itself_fails_its_turn(host, chat):
    host.agent.then(scripts.ends_itself)
    host.turn(chat)
    assert ends(host, chat) == [("error", "turn-1")]


def test_what_names_another_turn_is_dropped(host, chat):
    host.agent.then(scripts.speaks_of_another_turn)
    host.turn(chat)
    assert host.text(host.turns(chat)[0]) == "kept"


def test_what_comes_after_the_end_is_dropped(host, chat):
    later = []
    host.agent.then(scripts.speaks_after_the_end(later))
    host.turn(chat)
    host.forget()
    later[0]()
    assert host.said() == []


def test_a_stop_is_said_at_once_and_the_backend_told_behind_it(host, chat):
    host.agent.then(scripts.never_ends)
    turn = host.turn(chat)
    host.forget()
    host.stop(chat, turn)
    assert host.kinds(chat)[0] == "chat/turnCancelled"
    assert host.agent.chats[0].stops == [turn]
    assert ends(host, chat) == [("turnCancelled", turn)]
    assert host.turns(chat)[0]["state"] == "cancelled"
    assert host.clock.getDelayedCalls() != []  # only the row's quiet
    host.clock.advance(0.1)
    assert host.clock.getDelayedCalls() == []


def test_a_stop_of_no_running_turn_is_said_and_stops_nothing(host, chat):
    assert host.stop(chat, "nothing") is None
    host.agent.then(scripts.never_ends)
    host.turn(chat)
    assert host.stop(chat, "another") is None
    assert host.kinds(chat).count("chat/turnCancelled") == 2
    assert host.agent.chats[0].stops == []
    assert "activeTurn" in host.state(chat)


def test_a_turn_stopped_before_its_backend_is_open_is_never_handed_to_it(host, chat):
    host.agent.open_gate = Gate()
    turn = host.turn(chat)
    host.stop(chat, turn)
    host.agent.open_gate.open()
    assert host.agent.turns == []
    assert host.state("ahp-session:/s1")["lifecycle"] == "creating"
    host.turn(chat)
    assert len(host.agent.turns) == 1
    assert len(host.agent.chats) == 1
    assert host.state("ahp-session:/s1")["lifecycle"] == "ready"


def test_a_stopped_backends_later_words_are_dropped(host, chat):
    gate, host.agent.ignores_stop = Gate(), True
    host.agent.then(scripts.waits_at(gate, "late"))
    turn = host.turn(chat)
    host.stop(chat, turn)
    gate.open()
    assert ends(host, chat) == [("turnCancelled", turn)]
    assert host.text(host.turns(chat)[0]) == ""


def test_a_turn_after_a_stop_is_said_at_once_and_runs_when_the_backend_let_go(host, chat):
    gate, host.agent.ignores_stop = Gate(), True
    host.agent.then(scripts.waits_at(gate, "late"))
    host.stop(chat, host.turn(chat))
    second = host.turn(chat, "second")
    assert host.state(chat)["activeTurn"]["id"] == second
    assert len(host.agent.turns) == 1
    gate.open()
    assert [turn["state"] for turn in host.turns(chat)] == ["cancelled", "complete"]
    assert host.text(host.turns(chat)[1]) == "second"


def test_a_backend_that_does_not_let_go_is_cancelled_and_begun_again(host, chat):
    host.agent.ignores_stop = True
    host.agent.then(scripts.never_ends)
    host.stop(chat, host.turn(chat))
    second = host.turn(chat, "second")
    host.clock.advance(5)
    assert host.turns(chat)[-1]["id"] == second
    assert host.turns(chat)[-1]["state"] == "complete"
    assert len(host.agent.chats) == 2
    assert [turn["id"] for turn in host.agent.chats[1].start.history] == ["turn-1"]


def test_two_hundred_stops_each_followed_by_a_turn_never_mix_text(host, chat):
    host.agent.ignores_stop = True
    for round_ in range(200):
        gate = Gate()
        host.agent.then(scripts.waits_at(gate, f"old{round_}"))
        host.stop(chat, host.turn(chat))
        host.clock.advance(0.01)
        host.turn(chat, f"new{round_}")
        gate.open()
        assert host.text(host.turns(chat)[-1]) == f"new{round_}"
        assert host.text(host.turns(chat)[-2]) == ""


def test_a_turn_sent_while_one_runs_takes_its_place_and_runs_behind_it(host, chat):
    gate = Gate()
    host.agent.then(scripts.waits_at(gate, "first"))
    first = host.turn(chat)
    second = host.turn(chat, "second")
    assert host.state(chat)["activeTurn"]["id"] == second
    assert len(host.agent.turns) == 1
    gate.open()
    assert [turn.turn_id for turn in host.agent.turns] == [first, second]
    assert ends(host, chat) == [("turnComplete", first), ("turnComplete", second)]
    assert [turn["id"] for turn in host.turns(chat)] == [second]
    assert host.text(host.turns(chat)[0]) == "second"


def test_a_stop_of_the_turn_in_front_stops_the_work_and_drops_what_waits(host, chat):
    host.agent.then(scripts.never_ends)
    first = host.turn(chat)
    host.turn(chat, "second")
    third = host.turn(chat, "third")
    host.stop(chat, third)
    assert host.agent.chats[0].stops == [first]
    assert [turn.turn_id for turn in host.agent.turns] == [first]
    assert "activeTurn" not in host.state(chat)
    fourth = host.turn(chat, "fourth")
    assert host.turns(chat)[-1]["id"] == fourth


def test_a_turn_on_an_archived_session_ends_in_an_error_on_it(host, chat):
    host.dispatch("ahp-session:/s1", "session/isArchivedChanged", isArchived=True)
    host.turn(chat)
    assert host.turns(chat)[0]["responseParts"][-1]["error"]["errorType"] == "sessionArchived"
    assert host.agent.turns == []


def test_a_turn_on_an_archived_chat_ends_in_an_error_on_it(host, chat):
    host.service.create_chat({"channel": "ahp-session:/s1", "chat": "ahp-chat:/c2"})
    host.dispatch("ahp-chat:/c2", "chat/isArchivedChanged", isArchived=True)
    host.turn("ahp-chat:/c2")
    assert host.turns("ahp-chat:/c2")[0]["responseParts"][-1]["error"]["errorType"] == (
        "chatArchived"
    )


def test_an_activity_ends_with_its_turn(host, chat):
    async def busy(turn):
        turn.output.emit({"type": "chat/activityChanged", "activity": "Waking"})
        assert host.state("ahp-session:/s1")["activity"] == "Waking"

    host.agent.then(busy)
    host.turn(chat)
    assert "activity" not in host.state(chat)
    assert "activity" not in host.state("ahp-session:/s1")


def test_a_truncation_cuts_the_history_the_backend_begins_again_on(host, chat):
    for text in ("one", "two", "three"):
        host.turn(chat, text)
    host.dispatch(chat, "chat/truncated", turnId="turn-1")
    assert [turn["id"] for turn in host.turns(chat)] == ["turn-1"]
    host.turn(chat, "again")
    assert len(host.agent.chats) == 2
    assert host.agent.chats[0].closed
    assert [turn["id"] for turn in host.agent.chats[1].start.history] == ["turn-1"]


def test_a_truncation_at_no_turn_of_the_chat_cuts_nothing(host, chat):
    host.turn(chat)
    host.dispatch(chat, "chat/truncated", turnId="unknown")
    host.turn(chat)
    assert len(host.turns(chat)) == 2
    assert len(host.agent.chats) == 1


def test_a_truncation_drops_the_running_turn_and_stops_it(host, chat):
    host.turn(chat)
    host.agent.then(scripts.never_ends)
    second = host.turn(chat)
    host.dispatch(chat, "chat/truncated")
    assert host.turns(chat) == []
    assert host.agent.chats[0].stops == [second]
    assert ends(host, chat) == [("turnComplete", "turn-1")]
    assert host.said("ahp-root://")[-1]["activeSessions"] == 0
    host.turn(chat)
    assert len(host.turns(chat)) == 1


def test_a_resume_is_refused_in_the_order_of_its_conditions(host, chat):
    def resume(turn_id):
        return host.dispatch(chat, "chat/turnResume", turnId=turn_id)

    latest = "The requested turn is not the latest resumable errored turn."
    assert resume("none") == latest
    host.agent.then(scripts.fails("no"), scripts.fails("no", resumable=True), scripts.never_ends)
    assert resume(host.turn(chat)) == latest
    failed = host.turn(chat)
    assert resume(failed) == "The session provider does not support turn resume."
    host.dispatch("ahp-session:/s1", "session/isArchivedChanged", isArchived=True)
    assert resume(failed) == "Cannot resume a read-only or archived chat."
    host.dispatch("ahp-session:/s1", "session/isArchivedChanged", isArchived=False)
    host.turn(chat)
    assert resume(failed) == "Cannot resume while a turn is active."


def test_a_closed_chat_waits_for_its_backend(host, chat):
    host.service.create_chat({"channel": "ahp-session:/s1", "chat": "ahp-chat:/c2"})
    host.agent.close_gate = Gate()
    host.agent.then(scripts.never_ends)
    host.turn("ahp-chat:/c2")
    done = Deferred.fromCoroutine(host.service.dispose_chat("ahp-chat:/c2"))
    assert not done.called
    host.agent.close_gate.open()
    assert done.called
    assert host.agent.chats[0].closed


def test_a_backend_that_does_not_close_holds_nobody_longer_than_its_bound(host, chat):
    host.service.create_chat({"channel": "ahp-session:/s1", "chat": "ahp-chat:/c2"})
    host.agent.close_gate = Gate()
    host.turn("ahp-chat:/c2")
    done = Deferred.fromCoroutine(host.service.dispose_chat("ahp-chat:/c2"))
    host.clock.advance(10)
    assert done.called


def test_a_backend_that_cannot_open_fails_the_turn(host, chat):
    host.turn(chat)
    host.service.create_chat({"channel": "ahp-session:/s1", "chat": "ahp-chat:/c2"})
    host.agent.open_failure = AgentFailure("no program", "agentMissing")
    host.turn("ahp-chat:/c2")
    assert host.turns("ahp-chat:/c2")[0]["responseParts"][-1]["error"] == {
        "errorType": "agentMissing",
        "message": "no program",
    }
    assert host.state("ahp-session:/s1")["lifecycle"] == "ready"
