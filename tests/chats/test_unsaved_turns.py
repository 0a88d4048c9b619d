"""What cannot be kept fails its turn in words, and the host lives."""

import pytest

from ahpd.interfaces import StoreFailure
from ahpd.testing import agents as scripts
from ahpd.testing.agents import Gate

WORDS = "/data/sessions.db: No space left on device"


@pytest.fixture
def journal(failing_journal):
    return failing_journal()


@pytest.fixture
def chat(lone_chat, journal):
    return lone_chat(journal=journal, resume=True, steering=True)


def fail_on(*kinds):
    return lambda action: action["type"] in kinds


def error_of(turn):
    assert turn["state"] == "error"
    return turn["responseParts"][-1]["error"]


@pytest.mark.parametrize("kind", ["chat/responsePart", "chat/delta", "chat/toolCallStart"])
def test_a_turn_of_which_anything_is_lost_fails_and_its_backend_is_stopped(chat, journal, kind):
    gate = Gate()

    async def script(turn):
        await gate.passed()
        turn.tool("grep", "found")
        turn.delta(turn.markdown("more"), ".")

    chat.agent.then(script)
    chat.turn("first", "t1")
    journal.fails = fail_on(kind)
    gate.open()
    [turn] = chat.turns
    assert error_of(turn)["errorType"] == "storeFailed"
    assert WORDS in error_of(turn)["message"]
    assert chat.backend.stops == ["t1"]
    assert len(chat.said("chat/error")) == 1
    journal.fails = lambda action: False
    chat.turn("second", "t2")
    assert chat.turns[-1]["state"] == "complete"


def test_text_that_was_said_and_is_lost_fails_its_turn(chat):
    chat.agent.then(scripts.never_ends)
    chat.turn("first", "t1")
    chat.chat.unsaved(None, StoreFailure(WORDS))
    assert error_of(chat.turns[0])["errorType"] == "storeFailed"
    assert chat.backend.stops == ["t1"]


def test_with_nothing_running_there_is_nothing_to_fail(chat):
    chat.chat.unsaved(None, StoreFailure(WORDS))
    assert chat.kinds() == []


def test_on_a_full_disk_the_failure_itself_is_said_all_the_same(chat, journal):
    gate = Gate()
    chat.agent.then(scripts.waits_at(gate, "done"))
    chat.turn("first", "t1")
    journal.fails = lambda action: True
    gate.open()
    assert error_of(chat.turns[0])["errorType"] == "storeFailed"
    assert "activeTurn" not in chat.state
    assert journal.unkept == 1


@pytest.mark.parametrize("end", ["complete", "error"])
def test_an_end_that_is_lost_is_an_error_in_its_place(chat, journal, end):
    journal.fails = fail_on("chat/turnComplete", "chat/error")
    chat.agent.then(scripts.fails("no quota", "quota") if end == "error" else scripts.echo)
    chat.turn("first", "t1")
    [turn] = chat.turns
    assert error_of(turn)["errorType"] == ("quota" if end == "error" else "storeFailed")
    assert chat.chat.current is None


def test_a_stop_that_is_lost_is_refused_and_stops_all_the_same(chat, journal):
    chat.agent.then(scripts.never_ends)
    chat.turn("first", "t1")
    journal.fails = fail_on("chat/turnCancelled")
    chat.stop("t1")
    refusals = [e for e in chat.reader.said if "rejectionReason" in e]
    assert [e["action"]["type"] for e in refusals] == ["chat/turnCancelled"]
    assert WORDS in refusals[0]["rejectionReason"]
    assert error_of(chat.turns[0])["errorType"] == "storeFailed"
    assert chat.backend.stops == ["t1"]


def test_a_start_that_is_lost_is_refused_and_runs_nothing(chat, journal):
    journal.fails = fail_on("chat/turnStarted")
    chat.turn("first", "t1")
    [refusal] = chat.reader.said
    assert WORDS in refusal["rejectionReason"]
    assert (chat.turns, chat.agent.chats, chat.chat.current) == ([], [], None)
    journal.fails = lambda action: False
    assert chat.turn("first", "t1") == "t1"
    assert chat.turns[0]["state"] == "complete"


def test_behind_a_start_that_is_lost_the_turn_before_runs_on(chat, journal):
    gate = Gate()
    chat.agent.then(scripts.waits_at(gate, "done"))
    chat.turn("first", "t1")
    journal.fails = fail_on("chat/turnStarted")
    chat.turn("second", "t2")
    assert chat.state["activeTurn"]["id"] == "t1"
    gate.open()
    assert [(turn["id"], turn["state"]) for turn in chat.turns] == [("t1", "complete")]
    assert chat.texts() == ["first"]


def test_a_resume_that_is_lost_leaves_the_turn_to_be_resumed(chat, journal):
    chat.agent.then(scripts.fails("no", resumable=True))
    failed = chat.turn("first", "t1")
    journal.fails = fail_on("chat/turnResume")
    chat.resume(failed)
    assert chat.chat.current is None
    journal.fails = lambda action: False
    assert chat.resume(failed) is None
    assert chat.turns[0]["state"] == "complete"


def test_a_queued_message_whose_start_is_lost_still_waits(chat, journal):
    gate = Gate()
    chat.agent.then(scripts.waits_at(gate))
    chat.turn("first", "t1")
    chat.pend("q1", "queued")
    journal.fails = fail_on("chat/turnStarted")
    gate.open()
    assert [entry["id"] for entry in chat.state["queuedMessages"]] == ["q1"]
    assert chat.chat.current is None
    journal.fails = lambda action: False
    chat.dispatch("chat/queuedMessagesReordered", order=["q1"])
    assert chat.texts() == ["first", "queued"]


def test_a_clients_action_that_is_lost_is_refused_and_fails_no_turn(chat, journal):
    chat.agent.then(scripts.never_ends)
    chat.turn("first", "t1")
    journal.fails = fail_on("chat/pendingMessageSet", "chat/isReadChanged")
    chat.pend("q1")
    assert [e["action"]["type"] for e in chat.reader.said if "rejectionReason" in e] == [
        "chat/pendingMessageSet"
    ]
    assert chat.state["activeTurn"]["id"] == "t1"
    assert chat.backend.stops == []
