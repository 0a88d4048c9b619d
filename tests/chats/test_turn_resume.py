"""A failed turn run again (AHP.txt, `chat/turnResume`)."""

import pytest

from ahpd.interfaces import AgentFailure, TurnOver
from ahpd.testing import agents as scripts
from ahpd.testing.agents import Gate

LATEST = "The requested turn is not the latest resumable errored turn."


@pytest.fixture
def chat(lone_chat):
    return lone_chat(resume=True, steering=True, reopens=True)


def fails_after(seconds, chat, words="no model"):
    async def script(turn):
        turn.markdown("so far")
        chat.clock.advance(seconds)
        raise AgentFailure(words, "modelFailed", resumable=True)

    return script


@pytest.fixture
def failed(chat):
    """The id of a turn that failed after two seconds and can be resumed."""
    chat.agent.then(fails_after(2, chat))
    return chat.turn("first")


def rejects(words="no such turn", **how):
    async def script(turn):
        raise AgentFailure(words, "notFound", **how)

    return script


def test_it_is_said_with_its_senders_origin_and_the_backend_runs_the_turn_again(chat, failed):
    gate = Gate()
    chat.agent.then(scripts.waits_at(gate, "and on"))
    assert chat.resume(failed) is None
    said = next(e for e in chat.reader.said if e["action"]["type"] == "chat/turnResume")
    assert said["origin"]["clientId"] == "client-1"
    active = chat.state["activeTurn"]
    assert active["id"] == failed
    assert [part["kind"] for part in active["responseParts"]] == ["markdown", "error", "markdown"]
    assert chat.turns == []
    gate.open()
    [turn] = chat.turns
    assert turn["state"] == "complete"
    assert [part.get("content") for part in turn["responseParts"]] == ["so far", None, "and on"]
    assert chat.backend.resumed[0].turn_id == failed
    assert chat.backend.resumed[0].text == "first"
    assert chat.texts() == ["first"]


@pytest.mark.parametrize("how", ["complete", "cancelled", "error"])
def test_its_end_counts_the_time_of_both_runs(chat, failed, how):
    gate = Gate()

    async def script(turn):
        turn.markdown("again")
        await gate.passed()
        if how == "error":
            raise AgentFailure("once more", resumable=True)

    chat.agent.then(script)
    chat.clock.advance(60)  # between the runs: nobody's time
    chat.resume(failed)
    chat.clock.advance(1.5)
    if how == "cancelled":
        chat.stop(failed, duration=7)
    gate.open()
    [turn] = chat.turns
    assert (turn["state"], turn["duration"]) == (how, 3500)


def test_a_stop_of_a_turn_run_once_keeps_the_senders_time(chat):
    chat.agent.then(scripts.never_ends)
    chat.turn()
    chat.clock.advance(3)
    chat.stop(duration=7)
    assert chat.turns[0]["duration"] == 7


@pytest.mark.parametrize("how", ["rejected", "bug", "unopened", "unprepared"])
def test_a_resume_that_fails_wipes_nothing_and_can_be_asked_for_again(chat, failed, how, request):
    before = chat.turns[0]["responseParts"]
    if how == "rejected":
        chat.agent.then(rejects())
    elif how == "bug":
        request.node.add_marker(pytest.mark.logs_failures)
        chat.agent.then(scripts.raises(KeyError("secret")))
    elif how == "unopened":
        chat.chat.refresh_backend()
        chat.agent.open_failure = AgentFailure("no program", "agentMissing")
    else:
        chat.owner.preparation = unprepared
    chat.resume(failed)
    [turn] = chat.turns
    assert turn["state"] == "error"
    assert turn["responseParts"][: len(before)] == before
    [*_, part] = turn["responseParts"]
    assert part["kind"] == "error"
    assert part["resumable"] is True
    assert "secret" not in str(turn)
    assert turn["duration"] == 2000
    chat.agent.open_failure = chat.owner.preparation = None
    chat.agent.then(scripts.answers("at last"))
    assert chat.resume(failed) is None
    assert chat.turns[0]["state"] == "complete"
    assert len(chat.turns) == 1


async def unprepared(request):
    raise AgentFailure("no such pin", "sendFailed")


def test_a_resumed_turn_that_went_on_fails_as_its_backend_says(chat, failed):
    chat.agent.then(scripts.fails("for good"))
    chat.resume(failed)
    [*_, part] = chat.turns[0]["responseParts"]
    assert "resumable" not in part
    assert chat.resume(failed) == LATEST


def test_a_backend_that_cannot_run_a_turn_again_refuses(lone_chat):
    chat = lone_chat()
    chat.agent.then(fails_after(0, chat))
    failed = chat.turn()
    assert chat.resume(failed) == "The session provider does not support turn resume."
    assert chat.said("chat/turnResume") == []


def test_the_conditions_are_checked_in_their_order(chat, failed):
    assert chat.resume("another") == LATEST
    chat.owner.archived = True
    assert chat.resume("another") == "Cannot resume a read-only or archived chat."
    chat.agent.then(scripts.never_ends)
    chat.turn()
    assert chat.resume(failed) == "Cannot resume while a turn is active."
    chat.owner.archived = False
    chat.stop()
    assert chat.resume(failed) == LATEST


def test_the_queue_waits_until_the_turn_is_resumed_and_completes(chat, failed):
    chat.pend("q1", "behind")
    assert chat.texts() == ["first"]
    chat.agent.then(rejects())
    chat.resume(failed)
    assert chat.texts() == ["first"]
    chat.resume(failed)
    assert chat.texts() == ["first", "behind"]


def test_a_stop_of_a_resumed_turn_tells_the_backend(chat, failed):
    chat.agent.then(scripts.never_ends)
    chat.resume(failed)
    chat.stop(failed)
    assert chat.backend.stops == [failed]
    assert chat.resume(failed) == LATEST


def test_a_resume_in_front_of_a_truncation_that_drops_its_turn_runs_nothing(chat, failed):
    """Both sent from inside a delivery: the second is applied when the turn is gone."""

    def both(action):
        if action["type"] == "chat/draftChanged":
            chat.reader.on = lambda action: None
            chat.truncate()
            assert chat.resume(failed) is None

    chat.reader.on = both
    chat.agent.then(scripts.never_ends)
    chat.dispatch("chat/draftChanged")
    assert chat.turns == []
    assert "activeTurn" not in chat.state
    assert chat.chat.current is None
    chat.agent._scripts.clear()
    chat.turn("still works")
    assert chat.turns[-1]["state"] == "complete"


def test_an_interrupted_turn_can_be_resumed_where_its_backend_can(chat, lone_chat):
    for host, resumable in ((chat, True), (lone_chat(), None)):
        host.agent.then(scripts.never_ends)
        host.turn()
        host.chat.interrupt()
        part = host.turns[0]["responseParts"][-1]
        assert part["error"]["errorType"] == "executionInterrupted"
        assert part.get("resumable") is resumable


def test_a_turn_resumed_after_a_restart_is_run_on_the_conversation_it_was_in(
    lone_chat, chat, failed
):
    again = lone_chat({"conversation": "c1"}, turns=chat.turns, resume=True, reopens=True)
    again.resume(failed)
    assert again.turns[0]["state"] == "complete"
    assert again.backend.start.resume.conversation == "c1"
    assert again.backend.resumed[0].text == "first"


def test_a_resumed_turn_is_asked_what_it_is_asked(chat, failed):
    raised, chat.agent.ignores_stop = [], True

    async def script(turn):
        call = turn.ask("rm", "Remove it")
        try:
            await turn.confirmed(call)
        except TurnOver:
            raised.append(True)
            raise

    chat.agent.then(script)
    chat.resume(failed)
    chat.stop(failed)
    assert raised == [True]
    assert chat.turns[0]["state"] == "cancelled"
